"""Points that a cache can go back to from anywhere, where rows cannot be taken back that far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
from mlx.utils import tree_reduce
from mlx_lm.models.cache import KVCache, QuantizedKVCache

MOST = 8
MOST_BYTES = 512 << 20  # of all together; the newest is kept in any case
NEWEST = 3  # are the last to go: a turn's own marks, which its next answer goes back to


@dataclass(frozen=True)
class Checkpoint:
    """All layers after `rows` rows.

    Attributes:
        rows: tokens read.
        snapshots: one a leaf; None where rows can simply be taken back.
        nbytes: memory of the snapshots.
    """

    rows: int
    snapshots: list[Any]
    nbytes: int

    def revert(self, leaves: Sequence[Any]) -> None:
        """Bring the leaves back to this point."""
        for leaf, snapshot in zip(leaves, self.snapshots, strict=True):
            if snapshot is None:
                leaf.trim(leaf.offset - self.rows)
            else:
                leaf.revert(snapshot)


def _gather(found: list[mx.array], value: Any) -> list[mx.array]:
    return [*found, value] if isinstance(value, mx.array) else found


class Checkpoints:
    """Some checkpoints of one cached model: the newest, and of older ones those that spare most reading."""

    def __init__(self) -> None:
        self._points: list[Checkpoint] = []

    def add(self, leaves: Sequence[Any], rows: int) -> None:
        """Remember the leaves as they are after `rows` rows."""
        if not rows or all(isinstance(leaf, KVCache | QuantizedKVCache) for leaf in leaves):
            return
        snapshots = [leaf.snapshot() if hasattr(leaf, "snapshot") else None for leaf in leaves]
        arrays: list[mx.array] = tree_reduce(_gather, snapshots, [])
        mx.eval(arrays)
        self.drop(beyond=rows - 1)
        self._points.append(Checkpoint(rows, snapshots, sum(array.nbytes for array in arrays)))
        while len(self._points) > MOST or (len(self._points) > 1 and self.nbytes > MOST_BYTES):
            del self._points[self._cheapest()]

    def _cheapest(self) -> int:
        """The one to forget: that whose loss costs the fewest rows to read again from the one before it."""
        older = self._points[: max(len(self._points) - NEWEST, 1)]
        costs = [
            point.rows - before for before, point in zip([0, *(p.rows for p in older)], older, strict=False)
        ]
        return costs.index(min(costs))

    def drop(self, beyond: int) -> None:
        """Forget those of more than `beyond` rows: other text may follow there."""
        self._points = [point for point in self._points if point.rows <= beyond]

    def best(self, rows: int) -> Checkpoint | None:
        """The furthest that is not past `rows`."""
        return next((point for point in reversed(self._points) if point.rows <= rows), None)

    @property
    def nbytes(self) -> int:
        """Memory of all snapshots, in bytes."""
        return sum(point.nbytes for point in self._points)
