"""The cache of a recurrent layer: gated delta nets, Mamba, short convolutions, RWKV."""

from __future__ import annotations

from typing import Any, Protocol

import mlx.core as mx
from mlx_lm.models.cache import ArraysCache


class Unrecorded(Exception):
    """A state was written by something whose inputs are not recorded."""


class Writes(Protocol):
    """What hears of every write."""

    layers: list[RecurrentCache]

    def call(self, call: Any) -> Any:
        """Run a module's call on such a cache."""

    def written(self) -> None:
        """A state is being written."""


class RecurrentCache(ArraysCache):
    """The states of one layer, all of the same row. `journal` knows how they came about."""

    cache: list[mx.array | None]

    def __init__(self, size: int, journal: Writes) -> None:
        super().__init__(size)
        self.journal = journal
        journal.layers.append(self)

    def __setitem__(self, idx: int, value: mx.array) -> None:
        self.journal.written()
        self.cache[idx] = value

    def snapshot(self) -> list[mx.array | None]:
        """References to the states, for `revert`."""
        return list(self.cache)

    def revert(self, snapshot: list[mx.array | None]) -> None:
        """Go back to a snapshot, from wherever this cache is."""
        self.cache = list(snapshot)
