"""Mixtures of experts and latent attention without windows: KV caches of full attention."""

from __future__ import annotations

from typing import Any

from families.shapes import EXPERTS, LATENT, ROUTED, SCALED

_LONGCAT = {
    **LATENT,
    "attention_method": "MLA",
    "zero_expert_type": "identity",
    "ffn_hidden_size": 96,
    "moe_topk": 2,
    "expert_ffn_hidden_size": 48,
    "n_routed_experts": 4,
    "zero_expert_num": 2,
    "num_layers": 2,
    "routed_scaling_factor": 1.0,
    "mla_scale_q_lora": True,
    "mla_scale_kv_lora": True,
}
# Sparse attention that picks fewer tokens than a text has.
_INDEXED = {"index_head_dim": 16, "index_n_heads": 2, "index_topk": 12}

EXPERT: dict[str, dict[str, Any]] = {
    "Klear": {**EXPERTS, "attention_bias": False, "n_shared_experts": 1},
    "bailing_moe": {**EXPERTS, "first_k_dense_replace": 1, "n_group": 2, "topk_group": 1},
    "dbrx": {
        "d_model": 64,
        "n_layers": 2,
        "n_heads": 4,
        "ffn_config": {"ffn_hidden_size": 48, "moe_num_experts": 4, "moe_top_k": 2},
        "attn_config": {"kv_n_heads": 2, "clip_qkv": 8.0, "rope_theta": 10000.0},
    },
    "deepseek": ROUTED,
    "dots1": {**ROUTED, "n_group": 1},
    "ernie4_5_moe": {
        "use_bias": False,
        "moe_num_experts": 4,
        "moe_layer_start_index": 1,
        "moe_intermediate_size": 48,
        "moe_k": 2,
        "moe_num_shared_experts": 1,
        "moe_use_aux_free": True,
    },
    "glm4_moe": {
        **ROUTED,
        "use_qk_norm": True,
        "attention_bias": True,
        "partial_rotary_factor": 0.5,
        "rope_scaling": None,
    },
    "granitemoe": {
        **EXPERTS,
        "logits_scaling": 2.0,
        "attention_multiplier": 0.25,
        "embedding_multiplier": 2.0,
        "residual_multiplier": 0.5,
        "attention_bias": False,
    },
    "hunyuan": {
        "attention_bias": False,
        "moe_topk": 2,
        "num_experts": 4,
        "num_shared_expert": 1,
        "use_mixed_mlp_moe": True,
        "use_qk_norm": True,
        "use_cla": True,
        "cla_share_factor": 2,
        "rope_scaling": {"type": "dynamic", "alpha": 1.0, "factor": 1.0},
    },
    "llama4_text": {"intermediate_size_mlp": 96, "no_rope_layers": [1, 0], "use_qk_norm": True},
    "minimax": {**EXPERTS, "rotary_dim": 8},
    "mixtral": EXPERTS,
    "olmoe": EXPERTS,
    "phimoe": {
        **EXPERTS,
        "rope_scaling": {
            "type": "longrope",
            "long_factor": [2.0] * 8,
            "short_factor": [1.0] * 8,
            "long_mscale": 1.2,
            "short_mscale": 1.2,
        },
    },
    "phixtral": {"model_dim": 64, "num_heads": 4, "num_layers": 2, "rotary_dim": 8},
    "qwen2_moe": EXPERTS,
    "qwen3_moe": EXPERTS,
    "qwen3_vl_moe": {"text_config": EXPERTS},
    "solar_open": {**ROUTED, "partial_rotary_factor": 1.0, "use_qk_norm": True},
    "deepseek_v2": {
        **LATENT,
        **ROUTED,
        "topk_method": "group_limited_greedy",
        "rope_scaling": {
            "type": "yarn",
            "factor": 2.0,
            "original_max_position_embeddings": 64,
            "mscale": 1.0,
            "mscale_all_dim": 1.0,
            "beta_fast": 32,
            "beta_slow": 1,
        },
    },
    "deepseek_v3": {**LATENT, **ROUTED},
    "deepseek_v32": {**LATENT, **ROUTED, **_INDEXED},
    "glm4_moe_lite": {**LATENT, **ROUTED},
    "glm_moe_dsa": {**LATENT, **ROUTED, **_INDEXED, "rope_parameters": {"rope_theta": 10000.0}},
    "kimi_k25": {"text_config": {**LATENT, **ROUTED}},
    "kimi_vl": {"text_config": {**LATENT, **ROUTED}},
    "longcat_flash": _LONGCAT,
    "longcat_flash_ngram": {
        **_LONGCAT,
        "ngram_vocab_size_ratio": 4,
        "emb_neighbor_num": 3,
        "emb_split_num": 2,
    },
    "minicpm3": {
        **LATENT,
        "dim_model_base": 32,
        "scale_depth": 1.4,
        "scale_emb": 12.0,
        "rope_scaling": {
            "type": "longrope",
            "factor": 2.0,
            "original_max_position_embeddings": 32,
            "long_factor": [2.0] * 4,
            "short_factor": [1.0] * 4,
        },
    },
    "mistral4": {**LATENT, **ROUTED, "rope_parameters": SCALED},
    "youtu_llm": LATENT,
}
