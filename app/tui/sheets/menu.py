"""A list to choose from, drawn row by row; it fits any width, and its choice shows without colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from app.display import neutralise
from app.tui.terminal import palette

MARK = "› "
GAP = "  "
_LABEL = 12  # cells that a label has at least
_DETAIL_FROM = 12  # cells; a summary in less says nothing


@dataclass(frozen=True)
class Item:
    """One row.

    Attributes:
        label: what it is.
        detail: about it; left out where there is no room.
        note: at the right end, such as a key or a date.
        value: what choosing it gives; None cannot be chosen.
    """

    label: str
    detail: str = ""
    note: str = ""
    value: Any = None


class Menu(ScrollView, can_focus=False):
    """Rows with a choice among them, moved by whoever has the keyboard.

    Attributes:
        items: the rows.
        at: index of the choice, or None.
    """

    DEFAULT_CSS = """
    Menu { height: 1fr; background: $background; color: $foreground; scrollbar-size-vertical: 1; }
    """

    @dataclass
    class Chosen(Message):
        """A row was clicked."""

        item: Item

    @dataclass
    class Moved(Message):
        """Another row is the choice, or has another width."""

        item: Item | None

    def __init__(self) -> None:
        super().__init__()
        self.items: Sequence[Item] = ()
        self.at: int | None = None
        self._width = 0  # cells, as it was told last
        self._column = 0  # cells of the longest label

    @property
    def choice(self) -> Item | None:
        """The chosen row."""
        return None if self.at is None else self.items[self.at]

    def tells(self, item: Item) -> bool:
        """Whether its row has room for all of its detail."""
        width = self.scrollable_content_region.width
        return neutralise(item.detail) in strip(item, width, self._column, chosen=False).text

    def show(self, items: Sequence[Item], at: int | None = 0) -> None:
        """Show these rows; the choice is the first that can be chosen from `at` on."""
        self.items = items
        self._column = max((cell_len(item.label) for item in items if item.value is not None), default=0)
        self.virtual_size = Size(0, len(items))
        self.at = None
        self._go(at, 1)

    def move(self, rows: int) -> None:
        """Move the choice; beyond an end, a step of one row comes out at the other."""
        if not self.items:
            return
        step = 1 if rows > 0 else -1
        if self.at is None:
            target = 0 if step > 0 else len(self.items) - 1
        elif abs(rows) == 1:
            target = (self.at + rows) % len(self.items)
        else:
            target = min(max(self.at + rows, 0), len(self.items) - 1)
        self._go(target, step)
        self.post_message(self.Moved(self.choice))

    def _go(self, target: int | None, step: int) -> None:
        """Choose the next row in this direction that can be."""
        if target is not None:
            order = ((target + step * n) % len(self.items) for n in range(len(self.items)))
            self.at = next((i for i in order if self.items[i].value is not None), None)
        if self.at is not None:
            # A heading right above the choice comes into view with it.
            above = self.at - 1 if self.at and self.items[self.at - 1].value is None else self.at
            self.scroll_to(y=self._scrolled(above, self.at), animate=False)
        self.refresh()

    def _scrolled(self, first: int, last: int) -> int:
        height = max(self.size.height, 1)
        return min(first, max(int(self.scroll_y), last - height + 1))

    def on_resize(self, event: events.Resize) -> None:
        """Keep the choice in view, whose row has room for more now, or for less."""
        if self.at is not None:
            self.scroll_to(y=self._scrolled(self.at, self.at), animate=False)
            if event.size.width != self._width:
                self.post_message(self.Moved(self.choice))
        self._width = event.size.width

    def on_click(self, event: events.Click) -> None:
        """Choose the row under the mouse."""
        row = event.y + int(self.scroll_y)
        if row < len(self.items) and self.items[row].value is not None:
            self._go(row, 1)
            self.post_message(self.Chosen(self.items[row]))

    def render_line(self, y: int) -> Strip:
        """Row `y` of what is in view."""
        row, width = y + int(self.scroll_y), self.scrollable_content_region.width
        if row >= len(self.items):
            return Strip.blank(width, self.rich_style)
        drawn = strip(self.items[row], width, self._column, chosen=row == self.at)
        return drawn.apply_style(self.rich_style)


def strip(item: Item, width: int, column: int, *, chosen: bool) -> Strip:
    """A row at `width` cells.

    Args:
        column: cells of the longest label, so that details stand below each other.
    """
    label, detail, note = (
        neutralise(text).replace("\n", " ") for text in (item.label, item.detail, item.note)
    )
    if item.value is None:
        return Strip([Segment(fit(label, width), Style(bold=True, color=palette.MUTED))])
    note += " " if note else ""  # a frame or a scrollbar is next to it
    room = max(width - len(MARK), 0)
    if note and room - len(GAP) - cell_len(note) < min(cell_len(label), 2 * _LABEL):
        note = ""
    room -= cell_len(note) + len(GAP) if note else 0
    column = min(column, max(width // 3, _LABEL))
    if not detail or room - column - len(GAP) < _DETAIL_FROM:
        body = [Segment(fit(label, room), Style(bold=chosen))]
    else:
        body = [
            Segment(fit(label, column) + GAP, Style(bold=chosen)),
            Segment(fit(detail, room - column - len(GAP)), Style(color=palette.MUTED)),
        ]
    mark = Segment((MARK if chosen else " " * len(MARK))[:width], Style(bold=True, color=palette.ACCENT))
    end = [Segment(GAP + note, Style(color=palette.MUTED))] if note else []
    ground = Style(bgcolor=palette.RAISED) if chosen else Style.null()
    return Strip([mark, *body, *end]).apply_style(ground)


def fit(text: str, width: int) -> str:
    """`text` in exactly `width` cells: filled with spaces, or cut with an ellipsis."""
    if width <= 0:
        return ""
    if cell_len(text) > width:
        text = set_cell_size(text, width - 1).rstrip() + "…"
    return set_cell_size(text, width)
