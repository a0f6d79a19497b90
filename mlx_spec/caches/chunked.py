"""Keys and values of chunked attention, with rows to spare for going back."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
from mlx_lm.models.cache import ChunkedKVCache

from mlx_spec.caches.window import REACH
from mlx_spec.errors import UnsupportedCache


class ChunkedCache(ChunkedKVCache):
    """Stands for mlx-lm's chunked cache, which drops the chunk before as soon as a row lies beyond it.

    The model masks what is not of a row's own chunk, so rows may stay longer; here they leave many at once.
    """

    keys: Any
    values: Any
    offset: int
    start_position: int

    def maybe_trim_front(self) -> None:
        held = self.offset - self.start_position
        if held > self.chunk_size + REACH + self.step:
            drop = held - self.chunk_size - REACH
            self.keys = self.keys[..., drop:held, :]
            self.values = self.values[..., drop:held, :]
            self.start_position += drop

    @property
    def reach(self) -> int:
        """The fewest rows to go back to: the next row's chunk must be held from its beginning."""
        return -(-self.start_position // self.chunk_size) * self.chunk_size

    def trim(self, n: int) -> int:
        """Take the last `n` rows back.

        Raises:
            UnsupportedCache: rows that their chunk would then need are gone.
        """
        if self.offset - n < self.reach:
            raise UnsupportedCache(
                f"Chunked attention cannot go back to {self.offset - n} rows: it reaches to {self.reach}."
            )
        self.offset -= n
        return n

    def snapshot(self) -> tuple[mx.array, mx.array, int]:
        """A copy of the chunk that the next row belongs to, for `revert`."""
        end = self.offset - self.start_position
        rows = slice(end - min(end, self.chunk_size), end)
        return mx.contiguous(self.keys[..., rows, :]), mx.contiguous(self.values[..., rows, :]), self.offset

    def revert(self, snapshot: tuple[mx.array, mx.array, int]) -> None:
        """Go back to a snapshot, from wherever this cache is."""
        # The buffer is full, so the next row makes a new one and leaves the snapshot as it is.
        self.keys, self.values, self.offset = snapshot
        self.start_position = self.offset - self.keys.shape[2]
