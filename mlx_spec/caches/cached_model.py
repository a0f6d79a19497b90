"""A model together with its cache, as a transaction: a forward stages rows, `keep` rolls back.

Every kind of cache goes back exactly or says that it cannot: a model of which one layer cannot still
decodes, one token at a time, and `cannot_roll_back` says why it does not speculate.
"""

from __future__ import annotations

from collections.abc import Sequence

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_reduce
from mlx_lm.models.cache import KVCache, QuantizedKVCache, make_prompt_cache

from mlx_spec.caches.checkpoints import Checkpoints
from mlx_spec.caches.journal import Journal
from mlx_spec.caches.layers import leaves, quantized, transactional, unable
from mlx_spec.caches.recording import record
from mlx_spec.caches.rows import rows_differ
from mlx_spec.errors import UnsupportedCache


def parameter_bytes(model: nn.Module) -> int:
    """Memory of the model's weights, in bytes."""
    return tree_reduce(lambda total, a: total + a.nbytes if isinstance(a, mx.array) else total, model, 0)


class CachedModel:
    """One model, one sequence.

    Attributes:
        rows: tokens that the cache has read.
        layers: what the model gets as its cache.
        cannot_roll_back: why drafts cannot be verified on this cache, as a clause; None if they can.
    """

    def __init__(self, model: nn.Module, kv_bits: int | None = None, vocabulary: int | None = None) -> None:
        """Args:
        model: an mlx-lm model.
        kv_bits: of a quantized cache; None keeps the model's own.
        vocabulary: V, the columns of logits that mean a token; None takes all that the model gives.

        Raises:
            UnsupportedCache: a quantized cache does not fit the model.
        """
        self.model = model
        self.kv_bits = kv_bits
        self.vocabulary = vocabulary
        self.cannot_roll_back = (
            rows_differ(model)
            or unable(make_prompt_cache(model))
            or record(model, lambda journal: transactional(make_prompt_cache(model), journal))
        )
        self.reset()

    def reset(self) -> None:
        """Drop every row and every checkpoint."""
        self.rows = 0
        self._journal = Journal()
        self._checkpoints = Checkpoints()
        self.layers = make_prompt_cache(self.model)
        if self.kv_bits is not None:
            self.layers = quantized(self.model, self.layers, self.kv_bits)
        if not self.cannot_roll_back:
            self.layers = transactional(self.layers, self._journal)
        self._leaves = list(leaves(self.layers))

    def forward(self, tokens: mx.array) -> mx.array:
        """Stage rows for `tokens` (M,) and return their logits (M, V), unevaluated."""
        if self._journal.layers:
            self._journal.begin(self.rows, tokens.size)
        self.rows += tokens.size
        return self.model(tokens[None], cache=self.layers)[0, :, : self.vocabulary]

    def prefill(self, tokens: Sequence[int], chunk: int) -> None:
        """Put `tokens` in the cache, `chunk` at a time."""
        for start in range(0, len(tokens), chunk):
            self.forward(mx.array(list(tokens[start : start + chunk])))
            mx.eval([leaf.state for leaf in self._leaves])
            mx.clear_cache()

    def keep(self, rows: int) -> None:
        """Roll back to the first `rows` rows.

        Raises:
            UnsupportedCache: that is out of reach, or this cache cannot be rolled back at all.
        """
        if rows >= self.rows:
            return
        if reason := self.cannot_roll_back:
            raise UnsupportedCache(f"Cannot roll back: {reason}.")
        if rows < self._reach:
            raise UnsupportedCache(
                f"Cannot roll back to {rows} rows: this cache reaches back to {self._reach}."
            )
        for leaf in self._leaves:
            if hasattr(leaf, "offset"):
                leaf.trim(leaf.offset - rows)
        if self._journal.layers:
            self._journal.rollback(rows)
        self._went_back_to(rows)

    @property
    def _reach(self) -> int:
        """The fewest rows that rows can be taken back to."""
        windows = [leaf.reach for leaf in self._leaves if hasattr(leaf, "reach")]
        recurrent = [self._journal.reach(self.rows)] if self._journal.layers else []
        return max([0, *windows, *recurrent])

    def _went_back_to(self, rows: int) -> None:
        self.rows = rows
        self._checkpoints.drop(beyond=rows)
        if not self.in_step:
            offsets = sorted({leaf.offset for leaf in self._leaves if hasattr(leaf, "offset")})
            raise AssertionError(f"cache layers hold {offsets} rows after rolling back to {rows}")

    @property
    def in_step(self) -> bool:
        """Whether every layer that counts rows has read as many as were fed."""
        return all(getattr(leaf, "offset", self.rows) == self.rows for leaf in self._leaves)

    @property
    def trims(self) -> bool:
        """Whether `restore` reaches every earlier row, so that nothing need be marked."""
        return all(isinstance(leaf, KVCache | QuantizedKVCache) for leaf in self._leaves)

    def mark(self) -> None:
        """Remember this point, so that `restore` can come back to it from anywhere after it.

        Where all rows can be taken back anyway nothing is remembered. Only some marks are kept,
        and none from beyond where the cache went back to.
        """
        if not self.cannot_roll_back:
            self._checkpoints.add(self._leaves, self.rows)

    def restore(self, rows: int) -> int:
        """Go back to the furthest point that is not past `rows` and that the cache still has, or to nothing.

        Returns:
            The rows that are left: `rows` itself wherever rows can be taken back that far.
        """
        if rows >= self.rows:
            return self.rows
        if not self.cannot_roll_back and rows >= self._reach:
            self.keep(rows)
        elif point := self._checkpoints.best(rows):
            point.revert(self._leaves)
            self._journal.clear()
            self._went_back_to(point.rows)
        else:
            self.reset()
        return self.rows

    @property
    def kv_bytes(self) -> int:
        """Memory of the cache and of what leads back to earlier states, in bytes."""
        held = sum(leaf.nbytes for leaf in self._leaves if not leaf.empty())
        return held + self._journal.nbytes + self._checkpoints.nbytes
