"""Models with sliding windows, chunks or sparse blocks, smaller than any text that a test decodes."""

from __future__ import annotations

from typing import Any

from families.shapes import EXPERTS, FULL, MIXED, ROUTED, SCALED, SLIDING, WINDOW

_ROTARY = {kind: {"rope_theta": 10000.0, "rope_type": "default"} for kind in (FULL, SLIDING)}
# A window for every layer but the last of a pattern.
_PATTERN = {"num_hidden_layers": 3, "sliding_window": WINDOW, "sliding_window_pattern": 2}
_GEMMA3 = {**_PATTERN, "query_pre_attn_scalar": 16}
_GEMMA4 = {
    "num_hidden_layers": 6,
    "num_kv_shared_layers": 3,
    "layer_types": [SLIDING, SLIDING, FULL] * 2,
    "sliding_window": WINDOW,
    "global_head_dim": 32,
    "vocab_size_per_layer_input": 512,
    "hidden_size_per_layer_input": 8,
}
_MINISTRAL = {**MIXED, "rope_parameters": SCALED}

WINDOWED: dict[str, dict[str, Any]] = {
    "afmoe": {**EXPERTS, **MIXED, "num_dense_layers": 1},
    "cohere2": _PATTERN,
    "deepseek_v41": {
        **ROUTED,
        "num_hidden_layers": 3,
        "q_lora_rank": 24,
        "qk_rope_head_dim": 8,
        "o_groups": 2,
        "o_lora_rank": 16,
        "sliding_window": WINDOW,
        "compress_ratios": [0, 4, 4],
        "kv_source_layer_ids": [1],
        "index_source_layer_ids": [1],
        "index_n_heads": 2,
        "index_head_dim": 16,
        "index_topk": 4,
        "hc_mult": 2,
        "scoring_func": "sqrtsoftplus",
    },
    "exaone4": {**_PATTERN, "sliding_window_pattern": "LGL", "rope_scaling": None},
    "exaone_moe": {**EXPERTS, **MIXED, "is_moe_layer": [False, True, True]},
    "gemma3_text": _GEMMA3,
    "gemma3": {"text_config": _GEMMA3},
    "gemma3n": {
        "text_config": {
            "num_hidden_layers": 6,
            "layer_types": [SLIDING, SLIDING, FULL] * 2,
            "num_kv_shared_layers": 3,
            "sliding_window": WINDOW,
            "vocab_size_per_layer_input": 512,
            "rope_local_base_freq": 10000.0,
            "final_logit_softcapping": 30.0,
            "activation_sparsity_pattern": [0.5, 0.5, 0.0, 0.0, 0.0, 0.0],
            "hidden_size_per_layer_input": 8,
            "altup_num_inputs": 2,
            "altup_coef_clip": 120.0,
            "altup_correct_scale": True,
            "altup_active_idx": 0,
            "laurel_rank": 8,
        }
    },
    "gemma4": {"text_config": _GEMMA4},
    "gemma4_text": _GEMMA4,
    "gpt_oss": {**EXPERTS, **MIXED},
    "iquestloopcoder": {"loop_window_size": WINDOW},
    "laguna": {**EXPERTS, **MIXED, "num_attention_heads_per_layer": [4, 4, 2]},
    "llama4": {
        "text_config": {
            **EXPERTS,
            "model_type": "llama4_text",
            "num_hidden_layers": 4,
            "attention_bias": False,
            "attention_chunk_size": WINDOW,
            "floor_scale": 16,
            "interleave_moe_layer_step": 2,
            "intermediate_size_mlp": 96,
            "num_experts_per_tok": 1,
            "use_qk_norm": True,
            "rope_scaling": None,
        }
    },
    "mellum": {**EXPERTS, **MIXED, "rope_parameters": _ROTARY},
    "mimo_v2_flash": {
        **ROUTED,
        "num_hidden_layers": 3,
        "hybrid_layer_pattern": [1, 0, 1],
        "moe_layer_freq": [0, 1, 1],
        "add_swa_attention_sink_bias": True,
        "add_full_attention_sink_bias": False,
        "sliding_window_size": WINDOW,
        "layernorm_epsilon": 1e-5,
        "swa_rope_theta": 10000.0,
        "swa_num_attention_heads": 4,
        "swa_num_key_value_heads": 2,
        "v_head_dim": 16,
        "swa_head_dim": 16,
        "swa_v_head_dim": 16,
        "partial_rotary_factor": 0.5,
    },
    "minimax_m3_vl": {
        "text_config": {
            **EXPERTS,
            "num_hidden_layers": 3,
            "dense_intermediate_size": 96,
            "mlp_layer_types": ["dense", "sparse", "sparse"],
            "moe_layer_freq": [0, 1, 1],
            "sparse_attention_freq": [0, 1, 1],
            "rotary_dim": 8,
            "index_n_heads": 2,
            "index_head_dim": 16,
            "index_block_size": 8,
            "index_topk_blocks": 2,
            "index_local_blocks": 1,
        }
    },
    "ministral3": _MINISTRAL,
    "mistral3": {"text_config": {"model_type": "ministral3", **_MINISTRAL}},
    "muse_glimmer": {**MIXED, "layer_rope_theta": [10000.0, None, 10000.0]},
    "muse_spark": {
        "text_config": {
            **EXPERTS,
            **MIXED,
            "num_shared_experts": 0,
            "post_norm_eps": 1e-8,
            "rope_parameters": {"rope_theta": 10000.0},
            "layer_rope_theta": [10000.0, None, 10000.0],
            "final_logit_softcapping": 20.0,
            "output_multiplier": 0.5,
            "moe_hidden_size": 32,
            "mlp_layer_types": ["sparse"] * 3,
        }
    },
    "olmo3": MIXED,
    "plamo3": {
        "num_hidden_layers": 3,
        "window_size": WINDOW,
        "sliding_window": WINDOW,
        "sliding_window_pattern": 2,
    },
    "spark2_5": {**MIXED, "rope_parameters": _ROTARY},
    "step3p5": {
        **MIXED,
        "num_attention_groups": 2,
        "moe_num_experts": 4,
        "moe_top_k": 2,
        "moe_intermediate_size": 48,
        "share_expert_dim": 48,
        "moe_layers_enum": "1,2",
    },
}
