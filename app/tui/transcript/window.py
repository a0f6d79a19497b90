"""A view onto a column of entries: what it shows, and what stays in place whatever happens elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from app.tui.transcript.column import Column
from app.tui.transcript.entry import Entry

NEAR = 1  # views above and below that are laid out ahead
KEPT = 8  # views above and below whose rows are kept


@dataclass(frozen=True)
class _Held:
    """An entry, its distance from the top of the view, and its height."""

    entry: Entry
    offset: int
    height: int


class Window:
    """Rows `y` up to `y + height` of the column. Everything in it, and near it, is laid out.

    Attributes:
        column: of entries.
        y: the row at the top.
        height: rows; 0 until it is known.
        following: the column's end stays in view when it grows.
        unseen: rows that came below the view since the reader left the end.
    """

    def __init__(self) -> None:
        self.column = Column()
        self.y = 0
        self.height = 0
        self.following = True
        self.unseen = 0
        self._drawn: set[Entry] = set()
        self._changing = False

    @property
    def seen(self) -> range:
        """The entries in view."""
        return self.column.between(self.y, self.y + self.height)

    @property
    def _below(self) -> int:
        """Rows below the view."""
        return max(self.column.total - self.y - self.height, 0)

    def under(self, y: int) -> Entry | None:
        """The entry at row `y` of the view."""
        row = self.y + y
        return self.column.entries[self.column.at(row)[0]] if row < self.column.total else None

    def fill(self, entries: list[Entry]) -> None:
        """Show other entries, at their end."""
        self.column = Column(entries, self.column.width)
        self._drawn &= set(entries)
        self.end()

    def insert(self, at: int, entry: Entry) -> None:
        """Add an entry before the one at `at`."""
        with self.steady():
            self.column.insert(at, entry)
            self.column.settle(at)

    def remove(self, at: int) -> None:
        """Take an entry out."""
        with self.steady():
            self.column.remove(at)

    def changed(self, at: int) -> None:
        """An entry has changed."""
        with self.steady():
            self.column.unsettle(at)
            if self.column.entries[at].at_hand:
                self.column.settle(at)

    def end(self) -> None:
        """Go to the end, and follow it."""
        self.following = True
        self.unseen = 0
        self._place(None)

    def scroll(self, y: int) -> None:
        """The reader moves to row `y`; at the end the end is followed again."""
        self.y = y
        self.following = not self._below
        self.unseen = min(self.unseen, self._below)
        self._place(None if self.following else self._hold())

    def show(self, at: int) -> None:
        """Bring an entry into view; of one that is too high, its beginning."""
        column = self.column
        column.settle(at)
        top, height = column.top(at), column.height(at)
        if self.y <= top and top + height <= self.y + self.height:
            return
        offset = 0 if height > self.height or top < self.y else self.height - height
        self.following = False
        self._place(_Held(column.entries[at], offset, height))

    def resize(self, width: int, height: int) -> None:
        """Go on showing the same part of the same entry."""
        held = None if self.following else self._hold()
        self.height = height
        if width != self.column.width:
            self.column.resize(width)
            if held is not None and held.offset < 0:
                at = self.column.entries.index(held.entry)
                self.column.settle(at)
                now = self.column.height(at)
                held = _Held(held.entry, round(held.offset / held.height * now), now)
        self._place(held)

    @contextmanager
    def steady(self) -> Iterator[None]:
        """Whatever is done to the entries, the reader goes on seeing what was seen."""
        if self._changing:  # many changes, one move
            yield
            return
        held, below = None if self.following else self._hold(), self._below
        self._changing = True
        try:
            yield
        finally:
            self._changing = False
        self._place(held)
        if not self.following:
            self.unseen += max(self._below - below, 0)

    def _hold(self) -> _Held | None:
        """The first entry in view whose height is certain: what is above may turn out otherwise."""
        column, seen = self.column, self.seen
        at = next((i for i in seen if column.exact(i)), seen.start)
        return _Held(column.entries[at], column.top(at) - self.y, column.height(at)) if seen else None

    def _place(self, held: _Held | None) -> None:
        """Lay out what is in view and near it, with `held` where it was; without it, at the end."""
        column, height = self.column, self.height
        if not height:
            return
        while True:
            y = column.total - height
            if held is not None and held.entry in column.entries:
                y = column.top(column.entries.index(held.entry)) - held.offset
            self.y = max(min(y, column.total - height), 0)
            near = column.between(self.y - NEAR * height, self.y + (NEAR + 1) * height)
            guessed = [at for at in near if not column.exact(at)]
            if not guessed:
                break
            for at in guessed:
                column.settle(at)
        self._let_go(near)

    def _let_go(self, near: range) -> None:
        """Rows that are far away are made anew when somebody comes back."""
        column, height = self.column, self.height
        kept = column.between(self.y - KEPT * height, self.y + (KEPT + 1) * height)
        around = set(column.entries[kept.start : kept.stop])
        for entry in self._drawn - around:
            entry.forget()
        self._drawn = (self._drawn & around) | set(column.entries[near.start : near.stop])
