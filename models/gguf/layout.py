"""Which tensors a model has, under their names in GGUF and in mlx-lm, and in which shapes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Place:
    """Where one GGUF tensor goes.

    Attributes:
        module: of the mlx-lm model, such as `model.layers.0.self_attn.q_proj`.
        role: `weight` or `bias`.
        shape: row-major, unpacked.
        heads: attention heads whose rows GGUF llama files keep in another order, or 0.
    """

    module: str
    role: str
    shape: tuple[int, ...]
    heads: int = 0


def layout(config: dict[str, Any]) -> dict[str, Place]:
    """GGUF name to place of every tensor in a model of `config` (llama, qwen2 or qwen3)."""
    family, width, inner = config["model_type"], config["hidden_size"], config["intermediate_size"]
    heads, kv_heads, dim = config["num_attention_heads"], config["num_key_value_heads"], config["head_dim"]
    moved = family == "llama"
    matrices = {
        "attn_q": ("self_attn.q_proj", heads * dim, width, heads * moved),
        "attn_k": ("self_attn.k_proj", kv_heads * dim, width, kv_heads * moved),
        "attn_v": ("self_attn.v_proj", kv_heads * dim, width, 0),
        "attn_output": ("self_attn.o_proj", width, heads * dim, 0),
        "ffn_gate": ("mlp.gate_proj", inner, width, 0),
        "ffn_up": ("mlp.up_proj", inner, width, 0),
        "ffn_down": ("mlp.down_proj", width, inner, 0),
    }
    vectors = {"attn_norm": ("input_layernorm", width), "ffn_norm": ("post_attention_layernorm", width)}
    if family == "qwen3":
        vectors |= {"attn_q_norm": ("self_attn.q_norm", dim), "attn_k_norm": ("self_attn.k_norm", dim)}
    biased = {"attn_q", "attn_k", "attn_v"} if family == "qwen2" else set()
    if config.get("attention_bias"):
        biased |= {"attn_q", "attn_k", "attn_v", "attn_output"}
    if config.get("mlp_bias"):
        biased |= {"ffn_gate", "ffn_up", "ffn_down"}

    table = (config["vocab_size"], width)
    places = {
        "token_embd.weight": Place("model.embed_tokens", "weight", table),
        "output_norm.weight": Place("model.norm", "weight", (width,)),
    }
    if not config["tie_word_embeddings"]:
        places["output.weight"] = Place("lm_head", "weight", table)
    for layer in range(config["num_hidden_layers"]):
        there, here = f"blk.{layer}", f"model.layers.{layer}"
        for part, (module, rows, columns, moved_heads) in matrices.items():
            place = Place(f"{here}.{module}", "weight", (rows, columns), moved_heads)
            places[f"{there}.{part}.weight"] = place
            if part in biased:
                places[f"{there}.{part}.bias"] = Place(place.module, "bias", (rows,), moved_heads)
        for part, (module, length) in vectors.items():
            places[f"{there}.{part}.weight"] = Place(f"{here}.{module}", "weight", (length,))
    return places
