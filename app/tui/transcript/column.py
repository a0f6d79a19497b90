"""Entries one below the other: where each stands, though most were never laid out."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate

from app.tui.transcript.entry import Entry


class Column:
    """Heights at one width: estimated until somebody settles them. No screen.

    Attributes:
        entries: from the first to the last.
        width: in cells, of all of them.
    """

    def __init__(self, entries: Iterable[Entry] = (), width: int = 80) -> None:
        self.entries = list(entries)
        self.resize(width)

    def resize(self, width: int) -> None:
        """Estimate all heights at another width."""
        self.width = width
        self._heights = [entry.estimate(width) for entry in self.entries]
        self._exact = [False] * len(self.entries)
        self._ends: list[int] | None = None

    def insert(self, at: int, entry: Entry) -> None:
        """Add an entry before the one at `at`."""
        self.entries.insert(at, entry)
        self._heights.insert(at, entry.estimate(self.width))
        self._exact.insert(at, False)
        self._ends = None

    def remove(self, at: int) -> None:
        """Take an entry out."""
        for column in (self.entries, self._heights, self._exact):
            del column[at]
        self._ends = None

    def unsettle(self, at: int) -> None:
        """The entry has changed."""
        self._exact[at] = False

    def settle(self, at: int) -> None:
        """Lay the entry out, if its height is only estimated."""
        if not self._exact[at]:
            self._heights[at] = len(self.entries[at].lines(self.width))
            self._exact[at] = True
            self._ends = None

    def exact(self, at: int) -> bool:
        """The entry's height is known."""
        return self._exact[at]

    def height(self, at: int) -> int:
        """Rows of one entry."""
        return self._heights[at]

    def top(self, at: int) -> int:
        """The row at which an entry begins."""
        return self._sums[at - 1] if at else 0

    @property
    def total(self) -> int:
        """Rows of all."""
        return self._sums[-1] if self.entries else 0

    def at(self, y: int) -> tuple[int, int]:
        """Which entry row `y` belongs to, and which of its rows it is. `y` must be below `total`."""
        index = bisect_right(self._sums, y)
        return index, y - self.top(index)

    def between(self, start: int, end: int) -> range:
        """The entries that have rows from `start` up to `end`."""
        last = self.total - 1
        if last < 0 or end <= 0 or start > last:
            return range(0)
        return range(self.at(max(start, 0))[0], self.at(min(end - 1, last))[0] + 1)

    @property
    def _sums(self) -> list[int]:
        if self._ends is None:
            self._ends = list(accumulate(self._heights))
        return self._ends
