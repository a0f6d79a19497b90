"""A model together with its KV cache, as a transaction: a forward stages rows, `keep` rolls back.

Exact rollback is proven for plain and quantized KV caches. With any other kind the model still
decodes, one token at a time, and `cannot_roll_back` says why it does not speculate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_reduce
from mlx_lm.models.cache import KVCache, QuantizedKVCache, make_prompt_cache

from mlx_spec.errors import UnsupportedCache

ROLLS_BACK = (KVCache, QuantizedKVCache)


def parameter_bytes(model: nn.Module) -> int:
    """Memory of the model's weights, in bytes."""
    return tree_reduce(lambda total, a: total + a.nbytes if isinstance(a, mx.array) else total, model, 0)


class CachedModel:
    """One model, one sequence.

    Attributes:
        rows: tokens whose keys and values are in the cache.
    """

    def __init__(self, model: nn.Module, kv_bits: int | None = None, vocabulary: int | None = None) -> None:
        """Args:
        model: an mlx-lm model.
        kv_bits: of a quantized cache; None keeps the model's own.
        vocabulary: V, the columns of logits that mean a token; None takes all that the model gives.
        """
        self.model = model
        self.kv_bits = kv_bits
        self.vocabulary = vocabulary
        self.rows = 0
        self.layers = self._fresh_layers()

    def _fresh_layers(self) -> list[Any]:
        layers = make_prompt_cache(self.model)
        if self.kv_bits is None:
            return layers
        unknown = {type(layer).__name__ for layer in layers if not isinstance(layer, KVCache)}
        if unknown:
            kinds = ", ".join(sorted(unknown))
            raise UnsupportedCache(
                f"A quantized KV cache is not available for this model: it keeps {kinds}.",
                "Leave --kv-bits away.",
            )
        group = self._quantization_group()
        return [QuantizedKVCache(group_size=group, bits=self.kv_bits) for _ in layers]

    def _quantization_group(self) -> int:
        args: Any = self.model.args
        head_dim = getattr(args, "head_dim", None) or args.hidden_size // args.num_attention_heads
        for group in (64, 32):
            if head_dim % group == 0:
                return group
        raise UnsupportedCache(
            f"A quantized KV cache needs heads of a multiple of 32 numbers; this model's have {head_dim}.",
            "Leave --kv-bits away.",
        )

    @property
    def cannot_roll_back(self) -> str | None:
        """Why drafts cannot be verified on this cache, or None if they can."""
        kinds = {type(layer).__name__ for layer in self.layers if not isinstance(layer, ROLLS_BACK)}
        if not kinds:
            return None
        return f"this model's cache ({', '.join(sorted(kinds))}) cannot take rejected drafts back yet"

    @property
    def trims(self) -> bool:
        """Whether `restore` reaches every earlier row, so that nothing need be marked."""
        return self.cannot_roll_back is None

    def mark(self) -> None:
        """Make the present rows a point to which `restore` can go back. Free where rows can be trimmed."""

    def forward(self, tokens: mx.array) -> mx.array:
        """Stage rows for `tokens` (M,) and return their logits (M, V), unevaluated."""
        self.rows += tokens.size
        return self.model(tokens[None], cache=self.layers)[0, :, : self.vocabulary]

    def prefill(self, tokens: Sequence[int], chunk: int) -> None:
        """Put `tokens` in the cache, `chunk` at a time."""
        for start in range(0, len(tokens), chunk):
            self.forward(mx.array(list(tokens[start : start + chunk])))
            mx.eval([layer.state for layer in self.layers])
            mx.clear_cache()

    def keep(self, rows: int) -> None:
        """Roll back to the first `rows` rows.

        Raises:
            UnsupportedCache: the cache cannot be rolled back and holds more than `rows`.
        """
        surplus = self.rows - rows
        if surplus <= 0:
            return
        if reason := self.cannot_roll_back:
            raise UnsupportedCache(f"Cannot roll back: {reason}.")
        for layer in self.layers:
            layer.trim(surplus)
        self.rows = rows
        if any(layer.offset != rows for layer in self.layers):
            offsets = sorted({layer.offset for layer in self.layers})
            raise AssertionError(f"cache layers hold {offsets} rows after rolling back to {rows}")

    def restore(self, rows: int) -> int:
        """Go back to the furthest point that is not past `rows` and that the cache still has, or to nothing.

        Returns:
            The rows that are left: `rows` itself wherever rows can be taken back.
        """
        if self.rows > rows:
            if self.cannot_roll_back:
                self.reset()
            else:
                self.keep(rows)
        return self.rows

    def reset(self) -> None:
        """Drop every row."""
        self.layers = self._fresh_layers()
        self.rows = 0

    @property
    def kv_bytes(self) -> int:
        """Memory of the cache, in bytes."""
        return sum(layer.nbytes for layer in self.layers if not layer.empty())
