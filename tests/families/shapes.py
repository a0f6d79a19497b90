"""Entries that many tiny configurations share: sizes, experts, latent attention, kinds of layers."""

from __future__ import annotations

from typing import Any

SIZES: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "max_position_embeddings": 512,
    "tie_word_embeddings": False,
}
# Smaller than any text that a test decodes.
WINDOW = 32
FULL, SLIDING, LINEAR = "full_attention", "sliding_attention", "linear_attention"
# Sliding layers first and last, a full one between them.
MIXED = {"layer_types": [SLIDING, FULL, SLIDING], "num_hidden_layers": 3, "sliding_window": WINDOW}

# Experts under the two names that families use for their number; two of four, and one shared.
EXPERTS: dict[str, Any] = {
    "num_experts": 4,
    "num_local_experts": 4,
    "num_experts_per_tok": 2,
    "num_shared_experts": 1,
    "moe_intermediate_size": 48,
    "shared_intermediate_size": 48,
    "shared_expert_intermediate_size": 48,
    "moe_shared_expert_intermediate_size": 48,
    "norm_topk_prob": True,
    "decoder_sparse_step": 1,
    "mlp_only_layers": [],
}
# As DeepSeek routes: a dense layer first, then two of four experts in two groups, and a shared one.
ROUTED: dict[str, Any] = {
    "n_routed_experts": 4,
    "n_shared_experts": 1,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 48,
    "norm_topk_prob": True,
    "n_group": 2,
    "topk_group": 1,
    "routed_scaling_factor": 1.0,
    "first_k_dense_replace": 1,
    "moe_layer_freq": 1,
    "topk_method": "noaux_tc",
    "scoring_func": "sigmoid",
}
# Multi-head latent attention: queries and keys from low ranks, one rotary part for all heads.
LATENT: dict[str, Any] = {
    "num_key_value_heads": 4,
    "kv_lora_rank": 32,
    "q_lora_rank": 24,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 16,
    "v_head_dim": 16,
    "attention_bias": False,
}
# Attention whose scale grows with the position.
SCALED = {
    "rope_theta": 10000.0,
    "rope_type": "default",
    "llama_4_scaling_beta": 0.1,
    "original_max_position_embeddings": 16,
}
