"""From GGUF names and shapes to the configuration and the weight names of mlx-lm's models."""

from __future__ import annotations

import json
import math
from typing import Any

import mlx.core as mx
import numpy as np

from models.errors import ModelError
from models.gguf.blocks import BITS, GROUP, read_tensor
from models.gguf.header import Header, Tensor
from models.gguf.layout import layout

ARCHITECTURES = ("llama", "qwen2", "qwen3")
MAX_LAYERS = 1024

# Factors of the rotary frequencies. They become entries of the configuration and not weights.
_ROPE_FACTORS = "rope_freqs.weight"


class Unsupported(ModelError):
    """The file is whole, but holds a model that cannot be run right."""

    def __init__(self, header: Header, what: str) -> None:
        super().__init__(
            f"{header.path} {what}.",
            "Use an MLX version of this model, or a GGUF file of llama, qwen2 or qwen3.",
        )


def configuration(header: Header) -> dict[str, Any]:
    """The `config.json` of the model in `header`, quantization included.

    Raises:
        Unsupported: if a model of this architecture cannot be run right.
    """
    family = header.text("general.architecture")
    if family is None or family not in ARCHITECTURES:
        raise Unsupported(header, f"holds a model of the architecture {str(family)[:40]!r}")
    facts = _Facts(header, family)
    heads, width = facts.number("attention.head_count"), facts.number("embedding_length")
    layers = facts.number("block_count")
    if layers > MAX_LAYERS:
        raise Unsupported(header, f"claims {layers} layers")
    head_dim = facts.number("attention.key_length", width // heads)
    _refuse_what_would_be_wrong(facts, head_dim)
    if family == "qwen2" and head_dim * heads != width:
        raise Unsupported(header, f"is a qwen2 model with heads of {head_dim} numbers, not {width // heads}")
    config: dict[str, Any] = {
        "model_type": family,
        "hidden_size": width,
        "num_hidden_layers": layers,
        "intermediate_size": facts.number("feed_forward_length"),
        "num_attention_heads": heads,
        "num_key_value_heads": facts.number("attention.head_count_kv", heads),
        "head_dim": head_dim,
        "rms_norm_eps": facts.real("attention.layer_norm_rms_epsilon"),
        "rope_theta": facts.real("rope.freq_base", 10000.0),
        "rope_scaling": _rope_scaling(facts, head_dim),
        "max_position_embeddings": facts.number("context_length"),
        "vocab_size": _tensor(header, "token_embd.weight").shape[0],
        "tie_word_embeddings": "output.weight" not in header.tensors,
    }
    if family == "llama":
        config["attention_bias"] = "blk.0.attn_q.bias" in header.tensors
        config["mlp_bias"] = "blk.0.ffn_up.bias" in header.tensors
    _check_tensors(header, config)
    if quantization := _quantization(header, config):
        config["quantization"] = quantization
    return config


def weights(header: Header, config: dict[str, Any]) -> dict[str, mx.array]:
    """The weights of the model under the names of mlx-lm, quantized ones in MLX form.

    Args:
        header: of a checked file.
        config: as `configuration` made it of the same header.
    """
    loaded: dict[str, mx.array] = {}
    for name, place in layout(config).items():
        for role, values in read_tensor(header, header.tensors[name]).items():
            if place.heads:
                values = _halves(values, place.heads)
            loaded[f"{place.module}.{place.role if role == 'weight' else role}"] = values
    return loaded


def _halves(rows: mx.array, heads: int) -> mx.array:
    """Undo the row order of GGUF llama models.

    There the two numbers of each rotary pair are neighbours; mlx-lm's models keep the first numbers
    of all pairs before the second ones. Packed rows move whole, so quantized ones can be moved too.
    """
    pairs = rows.reshape(heads, -1, 2, *rows.shape[1:])
    return pairs.swapaxes(1, 2).reshape(rows.shape)


def _check_tensors(header: Header, config: dict[str, Any]) -> None:
    """Refuse a file whose tensors are not exactly those of its configuration."""
    places = layout(config)
    for name, tensor in header.tensors.items():
        if name == _ROPE_FACTORS:
            continue
        if name not in places:
            raise Unsupported(header, f"has a tensor {name[:60]!r} that its architecture does not know")
        if tensor.shape != places[name].shape:
            raise Unsupported(header, f"has {name!r} in the shape {tensor.shape}, not {places[name].shape}")
        if tensor.type in BITS and len(tensor.shape) != 2:
            raise Unsupported(header, f"has a quantized tensor {name!r} that is no matrix")
    for name in places:
        _tensor(header, name)


def _quantization(header: Header, config: dict[str, Any]) -> dict[str, Any] | None:
    """MLX's `quantization` entry: the commonest kind, and the modules that differ from it."""
    bits = {
        place.module: BITS[header.tensors[name].type]
        for name, place in layout(config).items()
        if header.tensors[name].type in BITS
    }
    if not bits:
        return None
    chosen = list(bits.values())
    common = max(set(chosen), key=lambda b: (chosen.count(b), b))
    others = {name: {"group_size": GROUP, "bits": b} for name, b in bits.items() if b != common}
    return {"group_size": GROUP, "bits": common, "mode": "affine", **others}


def _rope_scaling(facts: _Facts, head_dim: int) -> dict[str, Any] | None:
    scaling = facts.header.text(f"{facts.family}.rope.scaling.type") or "none"
    if scaling == "linear":
        return {"type": "linear", "factor": facts.real("rope.scaling.factor")}
    if scaling != "none":
        raise Unsupported(
            facts.header, f"scales its rotary frequencies in a way ({scaling}) that is not known here"
        )
    if _ROPE_FACTORS not in facts.header.tensors:
        return None
    tensor = facts.header.tensors[_ROPE_FACTORS]
    if tensor.type not in ("F32", "F16") or math.prod(tensor.shape) != head_dim // 2:
        raise Unsupported(facts.header, "has rotary factors of an unknown form")
    factors = np.array(read_tensor(facts.header, tensor)["weight"]).reshape(-1)
    guess = _llama3_scaling(factors, facts.real("rope.freq_base", 10000.0))
    if guess is None:
        raise Unsupported(facts.header, "has rotary factors that are not those of Llama 3")
    return guess


def _llama3_scaling(factors: np.ndarray, base: float) -> dict[str, Any] | None:
    """The Llama 3 scaling that gives exactly these divisors of the rotary frequencies, if one does.

    The file has the divisors and mlx-lm takes the rule, so the rule's own constants are tried and the
    divisors that they give are compared.
    """
    factor, low, high, original = float(factors.max()), 1.0, 4.0, 8192
    wavelengths = 2 * np.pi * base ** (np.arange(len(factors)) / len(factors))
    smooth = np.clip((original / wavelengths - low) / (high - low), 0, 1)
    expected = 1 / ((1 - smooth) / factor + smooth)
    if not np.allclose(factors, expected, rtol=1e-3):
        return None
    return {
        "rope_type": "llama3",
        "factor": factor,
        "low_freq_factor": low,
        "high_freq_factor": high,
        "original_max_position_embeddings": original,
    }


def _refuse_what_would_be_wrong(facts: _Facts, head_dim: int) -> None:
    header = facts.header
    if facts.number("expert_count", 0):
        raise Unsupported(header, "holds a mixture of experts")
    if facts.number("attention.value_length", head_dim) != head_dim:
        raise Unsupported(header, "has keys and values of different sizes")
    if facts.number("rope.dimension_count", head_dim) != head_dim or head_dim < 2 or head_dim % 2:
        raise Unsupported(header, "rotates a part of each head only")
    if facts.number("attention.sliding_window", 0):
        raise Unsupported(header, "attends in a sliding window")


def _tensor(header: Header, name: str) -> Tensor:
    if name not in header.tensors:
        raise Unsupported(header, f"has no tensor {name!r}")
    return header.tensors[name]


class _Facts:
    """Metadata of one architecture, checked to be of the right kind."""

    def __init__(self, header: Header, family: str) -> None:
        self.header, self.family = header, family

    def number(self, key: str, default: int | None = None) -> int:
        """A whole number; without a default it must be there and at least 1."""
        value = self.header.metadata.get(f"{self.family}.{key}", default)
        if (
            isinstance(value, bool)
            or not isinstance(value, int)
            or not (default == 0 or 1 <= value < 1 << 31)
        ):
            said = "no" if value is None else f"an unusable value {json.dumps(value, default=str)[:40]} for"
            raise Unsupported(self.header, f"has {said} {self.family}.{key}")
        return value

    def real(self, key: str, default: float | None = None) -> float:
        """A positive finite number; without a default it must be there."""
        value = self.header.metadata.get(f"{self.family}.{key}", default)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not (0 < value < math.inf):
            raise Unsupported(self.header, f"has no usable {self.family}.{key}")
        return float(value)
