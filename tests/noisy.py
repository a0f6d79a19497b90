"""A scripted backend whose rows round otherwise when a few are computed at once, as Metal's do."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models.cache import make_prompt_cache
from readable import READABLE, without_ends
from tiny import tiny_loaded


class Noisy(nn.Module):
    """A model whose logits and cached keys carry noise where a few rows are computed at once.

    As on Metal: small numbers of rows take other kernels than one row, and leave other last bits.
    """

    def __init__(self, inner: nn.Module, logits: float, keys: float) -> None:
        super().__init__()
        self._inner, self._logits, self._keys = inner, logits, keys
        self.args, self.layers = inner.args, inner.layers
        self.make_cache = lambda: make_prompt_cache(inner)

    def __call__(self, inputs: mx.array, cache: Any = None) -> mx.array:
        out = self._inner(inputs, cache=cache)
        rows = inputs.shape[1]
        if not 1 < rows <= 17:
            return out
        for layer in cache if self._keys else []:
            end = layer.offset
            layer.keys[..., end - rows : end, :] *= 1 + self._keys
        spread = mx.arange(out.size).reshape(out.shape) * 12.9898 + inputs[..., None] * 78.233
        return out + self._logits * (mx.sin(spread) * 43758.5453 % 1 - 0.5)


def noisy_target(seed: int = 6, logits: float = 0.3, keys: float = 0.003, family: str = "llama") -> Any:
    """A tiny model that ends at no token, with noise wide enough to flip some argmax."""
    target = without_ends(tiny_loaded(family, vocab=READABLE, seed=seed))
    return SimpleNamespace(
        model=Noisy(target.model, logits, keys), tokenizer=target.tokenizer, info=target.info
    )
