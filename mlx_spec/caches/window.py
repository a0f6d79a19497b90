"""A sliding window's keys and values in temporal order, with rows to spare for going back."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
from mlx_lm.models.base import create_causal_mask
from mlx_lm.models.cache import RotatingKVCache

from mlx_spec.errors import UnsupportedCache

REACH = 64  # rows that can be taken back at any time; a round stages at most 17


def append(buffer: mx.array | None, rows: mx.array, used: int, kept: int, room: int) -> mx.array:
    """A buffer (B, H, kept + room, D): the last `kept` of the `used` rows in `buffer`, then room."""
    B, H, _, D = rows.shape
    empty = mx.zeros((B, H, room, D), rows.dtype)
    return empty if buffer is None else mx.concatenate([buffer[..., used - kept : used, :], empty], axis=2)


class WindowCache(RotatingKVCache):
    """Stands for mlx-lm's rotating cache, which cannot go back once it has wrapped.

    Rows leave only when the buffer is full, all that are out of reach at once: one copy of the window
    for every `step` rows.

    Attributes:
        offset: rows that were read so far; those from `start` on are held.
        start: the row at the buffer's beginning.
    """

    keys: Any
    values: Any
    offset: int

    def __init__(self, max_size: int) -> None:
        super().__init__(max_size, keep=0)
        self.start = 0
        self._fetched = 0

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array]:
        """Append M rows; the keys and values that they may see: of the window before them, and their own."""
        added, used = keys.shape[2], self.offset - self.start
        if self.keys is None or used + added > self.keys.shape[2]:
            kept = min(used, self.max_size - 1 + REACH)
            room = max(self.step, added)
            self.keys = append(self.keys, keys, used, kept, room)
            self.values = append(self.values, values, used, kept, room)
            self.start, used = self.offset - kept, kept
        self.keys[..., used : used + added, :] = keys
        self.values[..., used : used + added, :] = values
        self.offset += added
        self._fetched = min(self.offset, self.max_size - 1 + added)
        return self.keys_and_values()

    def keys_and_values(self) -> tuple[mx.array, mx.array]:
        """What the latest update returned; layers that share this cache read it too."""
        end = self.offset - self.start
        rows = slice(end - self._fetched, end)
        return self.keys[..., rows, :], self.values[..., rows, :]

    def make_mask(self, N: int, window_size: int | None = None, return_array: bool = False) -> Any:
        """The mask of N new rows over the keys that `update_and_fetch` will return."""
        window = min(window_size or self.max_size, self.max_size)
        before = min(self.offset, self.max_size - 1)
        if N == 1:
            return None if before < window else mx.arange(before + 1) > before - window
        if before + N > window or return_array:
            return create_causal_mask(N, before, window_size=window)
        return "causal"

    @property
    def reach(self) -> int:
        """The fewest rows to go back to: the window before the next row must be held."""
        return self.start + self.max_size - 1 if self.start else 0

    def is_trimmable(self) -> bool:
        return True

    def trim(self, n: int) -> int:
        """Take the last `n` rows back.

        Raises:
            UnsupportedCache: rows that the window would then need are gone.
        """
        if self.offset - n < self.reach:
            raise UnsupportedCache(
                f"A sliding window cannot go back to {self.offset - n} rows: it reaches to {self.reach}."
            )
        self.offset -= n
        return n

    def snapshot(self) -> tuple[mx.array, mx.array, int]:
        """A copy of the window, for `revert`."""
        end = self.offset - self.start
        rows = slice(end - min(end, self.max_size - 1), end)
        return mx.contiguous(self.keys[..., rows, :]), mx.contiguous(self.values[..., rows, :]), self.offset

    def revert(self, snapshot: tuple[mx.array, mx.array, int]) -> None:
        """Go back to a snapshot, from wherever this cache is."""
        # The buffer is full, so the next row makes a new one and leaves the snapshot as it is.
        self.keys, self.values, self.offset = snapshot
        self.start = self.offset - self.keys.shape[2]

    @property
    def state(self) -> Any:
        # Behind its rows a buffer has some that were taken back: text that is to be gone.
        end = self.offset - self.start
        held = [None if a is None else a[..., :end, :] for a in (self.keys, self.values)]
        return *held, self.offset, self.max_size, self.start

    @state.setter
    def state(self, v: Any) -> None:
        self.keys, self.values, self.offset, self.max_size, self.start = v
