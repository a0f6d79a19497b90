"""Tiny random models of real mlx-lm families, with a small byte-level tokenizer.

Weights are float32 and depend on the seed alone, so a run can be repeated anywhere. Untied
embeddings and widened weights keep greedy text from falling into one repeated token at once.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_flatten, tree_map_with_path
from mlx_lm.tokenizer_utils import BPEStreamingDetokenizer, TokenizerWrapper
from mlx_lm.utils import _get_classes
from tokenizers import AddedToken, Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from transformers import PreTrainedTokenizerFast

from models.loaded import Info, Loaded

END, TURN_START, TURN_END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
CHATML = (
    "{% for message in messages %}"
    "<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
MERGES = [
    "t h",
    "th e",
    "i n",
    "a n",
    "an d",
    "e r",
    "o u",
    "Ġ t",
    "Ġ a",
    "Ġ the",
    "l l",
    "o n",
    "Ġ 1",
    "1 2",
]
# Tokens of `tiny_tokenizer`: 3 special ones, 256 bytes, the merges.
VOCAB = 3 + 256 + len(MERGES)

_COMMON: dict[str, Any] = {
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
_EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "norm_topk_prob": True}
_DELTA_NET = {
    "linear_num_value_heads": 4,
    "linear_num_key_heads": 2,
    "linear_key_head_dim": 16,
    "linear_value_head_dim": 16,
    "linear_conv_kernel_dim": 4,
    "full_attention_interval": 2,
}
# What each family has besides the common entries. What stands under "text_config" goes there, together
# with the common entries.
FAMILIES: dict[str, dict[str, Any]] = {
    "llama": {},
    "qwen2": {},
    "qwen3": {},
    "qwen3_moe": {**_EXPERTS, "decoder_sparse_step": 1, "mlp_only_layers": []},
    "qwen3_5": {"text_config": _DELTA_NET},
    "qwen3_next": {
        **_DELTA_NET,
        **_EXPERTS,
        "decoder_sparse_step": 1,
        "mlp_only_layers": [],
        "shared_expert_intermediate_size": 32,
        "partial_rotary_factor": 0.5,
    },
    "gemma3_text": {"sliding_window": 32, "sliding_window_pattern": 2, "query_pre_attn_scalar": 16},
    "gemma4_text": {
        "num_hidden_layers": 6,
        "global_head_dim": 32,
        "num_kv_shared_layers": 3,
        "layer_types": ["sliding_attention", "sliding_attention", "full_attention"] * 2,
        "sliding_window": 32,
        "hidden_size_per_layer_input": 8,
        "vocab_size_per_layer_input": VOCAB,
    },
    "gemma3n": {
        "text_config": {
            "num_hidden_layers": 6,
            "num_kv_shared_layers": 3,
            "layer_types": ["sliding_attention", "sliding_attention", "full_attention"] * 2,
            "sliding_window": 32,
            "hidden_size_per_layer_input": 8,
            "vocab_size_per_layer_input": VOCAB,
            "rope_local_base_freq": 10000.0,
            "final_logit_softcapping": 30.0,
            "activation_sparsity_pattern": [0.0] * 6,
            "altup_num_inputs": 2,
            "altup_coef_clip": 120.0,
            "altup_correct_scale": True,
            "altup_active_idx": 0,
            "laurel_rank": 8,
        }
    },
    "gpt_oss": {"sliding_window": 32, "num_local_experts": 4, "num_experts_per_tok": 2},
    "mamba2": {
        "num_heads": 4,
        "head_dim": 32,
        "intermediate_size": 128,
        "state_size": 16,
        "layer_norm_epsilon": 1e-5,
        "conv_kernel": 4,
        "n_groups": 1,
        "use_bias": False,
        "use_conv_bias": True,
        "time_step_limit": [0.0, 1e9],
        "time_step_rank": "auto",
    },
    "falcon_h1": {
        "mamba_d_ssm": 128,
        "mamba_n_heads": 4,
        "mamba_d_head": 32,
        "mamba_d_state": 16,
        "lm_head_multiplier": 1.0,
    },
    "lfm2": {
        "norm_eps": 1e-5,
        "conv_bias": False,
        "conv_L_cache": 3,
        "block_dim": 64,
        "block_multiple_of": 8,
        "block_ffn_dim_multiplier": 1.0,
        "block_auto_adjust_ff_dim": False,
        "num_hidden_layers": 3,
        "full_attn_idxs": [1],
    },
    "deepseek_v3": {
        "num_key_value_heads": 4,
        "q_lora_rank": 32,
        "kv_lora_rank": 32,
        "qk_rope_head_dim": 16,
        "qk_nope_head_dim": 16,
        "v_head_dim": 16,
        "n_routed_experts": 4,
        "n_shared_experts": 1,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 32,
        "first_k_dense_replace": 1,
    },
    "llama4": {
        "text_config": {
            "num_hidden_layers": 4,
            "attention_bias": False,
            "attention_chunk_size": 32,
            "interleave_moe_layer_step": 2,
            "intermediate_size_mlp": 96,
            "num_local_experts": 4,
            "num_experts_per_tok": 1,
            "rope_scaling": None,
            "use_qk_norm": True,
        }
    },
    "rwkv7": {
        "norm_eps": 1e-5,
        "a_low_rank_dim": 8,
        "v_low_rank_dim": 8,
        "gate_low_rank_dim": 8,
        "decay_low_rank_dim": 8,
    },
}


def tiny_tokenizer(eos: tuple[str, ...] = (END, TURN_END)) -> TokenizerWrapper:
    """A tokenizer of every byte, a few merges and three special tokens (ids 0, 1 and 2).

    Printable ASCII comes right after the special tokens, so even a model of 32 rows decodes to
    readable text.
    """
    alphabet = sorted(ByteLevel.alphabet(), key=lambda c: (not (c.isascii() and c.islower()), c))
    tokens = [END, TURN_START, TURN_END, "Ġ", *(c for c in alphabet if c != "Ġ")]
    tokens += [merge.replace(" ", "") for merge in MERGES]
    bpe = BPE(vocab={t: i for i, t in enumerate(tokens)}, merges=[tuple(m.split()) for m in MERGES])
    backend = Tokenizer(bpe)
    backend.pre_tokenizer = ByteLevel(add_prefix_space=False)
    backend.decoder = ByteLevelDecoder()
    backend.add_special_tokens([AddedToken(t, special=True) for t in (END, TURN_START, TURN_END)])
    fast = PreTrainedTokenizerFast(
        tokenizer_object=backend, eos_token=TURN_END, clean_up_tokenization_spaces=False
    )
    fast.chat_template = CHATML
    ids = [fast.convert_tokens_to_ids(token) for token in eos]
    return TokenizerWrapper(fast, BPEStreamingDetokenizer, eos_token_ids=ids)


def tiny_config(
    family: str = "llama", *, vocab: int = VOCAB, layers: int = 2, **changes: Any
) -> dict[str, Any]:
    """The config.json of a tiny model of `family`; `changes` override single entries."""
    common = {"model_type": family, **_COMMON, "vocab_size": vocab, "num_hidden_layers": layers}
    own = FAMILIES[family]
    if inner := own.get("text_config"):
        return {**common, **own, "text_config": {**common, **inner, **changes}}
    return {**common, **own, **changes}


def tiny_model(config: dict[str, Any], *, seed: int = 0, gain: float = 2.0) -> nn.Module:
    """A model of `config` with float32 weights that depend on `seed` alone."""
    model_class, args_class = _get_classes(config)
    model = model_class(args_class.from_dict(config))
    names = [name for name, _ in tree_flatten(model.parameters())]
    keys = dict(zip(names, mx.random.split(mx.random.key(seed), len(names)), strict=True))
    # These multiply embeddings by the root of their width, and their output is tied to them: at full
    # scale each token would be followed by itself.
    embedded = 1 / 8 if config["model_type"] in ("gemma3n", "gemma4_text") else 1.0

    def fill(name: str, weight: mx.array) -> mx.array:
        if name.endswith("A_log"):  # a model draws them without a key
            return mx.log(mx.arange(1, weight.size + 1)).reshape(weight.shape)
        if weight.ndim < 2 and not name.endswith("bias"):
            return weight.astype(mx.float32)
        scale = embedded if "embed" in name else gain / math.sqrt(weight.shape[-1])
        return mx.random.normal(weight.shape, key=keys[name]) * scale

    model.update(tree_map_with_path(fill, model.parameters()))
    model.eval()
    mx.eval(model.parameters())
    return model


def tiny_loaded(
    family: str = "llama",
    *,
    vocab: int = VOCAB,
    layers: int = 2,
    seed: int = 0,
    eos: tuple[str, ...] = (END, TURN_END),
    **changes: Any,
) -> Loaded:
    """A tiny random model with the tiny tokenizer, in the shape that `models.load` returns.

    Args:
        family: a key of `FAMILIES`.
        vocab: rows of the output; more than `VOCAB` leaves rows without a token.
        layers: transformer blocks.
        seed: of the weights.
        eos: texts of the end tokens.
        changes: entries of the configuration to override.
    """
    config = tiny_config(family, vocab=vocab, layers=layers, **changes)
    model = tiny_model(config, seed=seed)
    nbytes = sum(weight.nbytes for _, weight in tree_flatten(model.parameters()))
    info = Info(
        ref=f"tiny-{family}",
        name=f"tiny {family}",
        family=family,
        context_length=config["max_position_embeddings"],
        vocab_size=vocab,
        dtype="float32",
        quantization=None,
        nbytes=nbytes,
    )
    return Loaded(model, tiny_tokenizer(eos), info)


def save_tiny(folder: Path, loaded: Loaded, config: dict[str, Any]) -> Path:
    """Write a tiny model as a folder in MLX format.

    Args:
        folder: is made.
        loaded: from `tiny_loaded`.
        config: of the same model, from `tiny_config`.

    Returns:
        The folder.
    """
    folder.mkdir(parents=True)
    weights = dict(tree_flatten(loaded.model.parameters()))
    mx.save_safetensors(str(folder / "model.safetensors"), weights, {"format": "mlx"})
    ends = {"eos_token_id": sorted(loaded.tokenizer.eos_token_ids)}
    (folder / "config.json").write_text(json.dumps({**config, **ends}))
    loaded.tokenizer.save_pretrained(folder)
    return folder
