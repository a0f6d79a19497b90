"""What a saved cache must share with the engine that takes it up: model, versions, tokenizer, precision."""

from __future__ import annotations

import hashlib
import json
from importlib.metadata import version
from typing import Any

import mlx.core as mx
import numpy as np
from mlx.utils import tree_flatten

FORMAT = 1  # of snapshots; a change of meaning is a new number
SAMPLED = 64  # numbers that the checksum takes of each weight


def identity(target: Any, kv_bits: int | None) -> dict[str, str]:
    """Facts that decide whether rows computed elsewhere are the rows that `target` would compute.

    Args:
        target: has `.model`, `.tokenizer` and `.info`.
        kv_bits: of the quantized KV cache; None for the model's own precision.

    Returns:
        Each fact under the name that a person knows it by.
    """
    info = target.info
    return {
        "format": str(FORMAT),
        "model": str(info.name),
        "revision": str(info.revision or "none"),
        "dtype": str(info.dtype),
        "quantization": str(info.quantization or "none"),
        "weights": weights_checksum(target.model),
        "tokenizer": tokenizer_checksum(target.tokenizer),
        "mlx-lm version": version("mlx-lm"),
        "kv-bits": str(kv_bits or "unset"),
    }


def weights_checksum(model: Any) -> str:
    """A hash of every weight's name, shape and type and of some of its numbers: cheap, and different
    for another fine-tune of the same model."""
    digest = hashlib.sha256()
    weights = dict(tree_flatten(model.parameters()))
    for name in sorted(weights):
        weight = weights[name]
        digest.update(f"{name} {weight.shape} {weight.dtype}\n".encode())
        if weight.size:
            step = max(1, weight.size // SAMPLED)
            picked = mx.contiguous(weight.reshape(-1)[::step][:SAMPLED])
            digest.update(np.array(picked.view(mx.uint8)).tobytes())
    return digest.hexdigest()[:32]


def tokenizer_checksum(tokenizer: Any) -> str:
    """A hash of the whole vocabulary."""
    table = json.dumps(sorted(tokenizer.get_vocab().items()))
    return hashlib.sha256(table.encode()).hexdigest()[:32]
