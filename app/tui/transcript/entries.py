"""Entries on the screen: drawn row by row, scrolled, moved sideways, selected and copied."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.geometry import Offset, Region, Size
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from app.tui.terminal import palette
from app.tui.text.rows import Row
from app.tui.transcript.entry import Entry, action
from app.tui.transcript.window import Window

WIDEST = 112  # cells of text
LEFT = 2  # cells before it
MANY = 2000  # lines whose strips are kept
SIDEWAYS = 4  # cells a turn of the wheel
# For selections, rows are numbered through all entries, and characters from the edge of the screen on.
ROWS = 1 << 24  # more than any entry has
FIRST = 8  # the number of a row's first character: the edges before it have some too
_NOTHING = Strip([])
_MARK = Style(color=palette.ACCENT)
_CHIP = Style(color=palette.GROUND, bgcolor=palette.ACCENT, bold=True) + action("end")


class Entries(ScrollView):
    """Shows a window onto entries.

    Attributes:
        current: the entry that bears a mark, or None.
    """

    DEFAULT_CSS = """
    Entries {
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-gutter: stable;
        scrollbar-size-vertical: 1;
        scrollbar-color: $panel;
        scrollbar-background: $background;
        scrollbar-background-hover: $background;
        scrollbar-background-active: $background;
    }
    """

    can_focus = False
    _ground: Style | None = None  # what `rich_style` says, which is slow to say it

    def __init__(self) -> None:
        super().__init__()
        self._window = Window()
        self._placing = False
        self._shown: list[Strip] = []  # the view, line by line
        self._strips: dict[
            tuple[int, int], tuple[Row, Strip]
        ] = {}  # by entry and row; drawn rows seldom change
        self.current: Entry | None = None

    @property
    def following(self) -> bool:
        """The end stays in view when it grows."""
        return self._window.following

    @property
    def entries(self) -> list[Entry]:
        """From the first to the last."""
        return self._window.column.entries

    # What it shows

    def fill(self, entries: list[Entry]) -> None:
        """Show other entries, at their end."""
        for entry in entries:
            entry.on_change = self._changed
        self.current = None
        self._window.fill(entries)
        self._show()

    def insert(self, entry: Entry, before: Entry | None = None) -> None:
        """Add an entry at the end, or before another."""
        entry.on_change = self._changed
        self._window.insert(len(self.entries) if before is None else self.entries.index(before), entry)
        self._show()

    def take_out(self, entry: Entry) -> None:
        """Remove an entry."""
        if self.current is entry:
            self.current = None
        self._window.remove(self.entries.index(entry))
        self._show()

    @contextmanager
    def steady(self) -> Iterator[None]:
        """Whatever is done to the entries, the reader goes on seeing what was seen."""
        with self._window.steady():
            yield
        self._show()

    def _changed(self, entry: Entry) -> None:
        if entry in self.entries:
            self._window.changed(self.entries.index(entry))
            self._show()

    # Where the reader is

    def turn(self, pages: int) -> None:
        """Scroll by pages, with one row in common."""
        self.scroll_relative(y=pages * max(self.size.height - 1, 1), animate=False)

    def to_end(self) -> None:
        """Go to the end, and follow it."""
        self._window.end()
        self._show()

    def mark(self, entry: Entry | None) -> None:
        """Make an entry current, or none."""
        self.current = entry
        self._draw_all()

    def bring(self, entry: Entry) -> None:
        """Bring an entry into view."""
        self._window.show(self.entries.index(entry))
        self._show()

    def reach(self, cells: int) -> None:
        """Move wide code and tables sideways: of the current entry if it is in view, else of all that are."""
        seen = [self.entries[at] for at in self._window.seen]
        for entry in [self.current] if self.current in seen else seen:
            self._move(entry, cells)

    def _move(self, entry: Entry | None, cells: int) -> None:
        if entry is not None:
            width = self._window.column.width
            wide = [row.width for row in entry.lines(width) if row.ground is not None]
            entry.shift = max(min(entry.shift + cells, max(wide, default=0) - width), 0)
            self._draw_all()

    def _show(self) -> None:
        """Bring the scrollbar to where the window is, and draw what is no longer right."""
        total = self._window.column.total
        self._placing = True
        if self.show_vertical_scrollbar == (total > self.size.height):
            # Setting it otherwise would lay out the whole screen anew, at every line that comes.
            self.set_reactive(Entries.virtual_size, Size(self.size.width, total))
            if self.show_vertical_scrollbar:
                self.vertical_scrollbar.window_virtual_size = total
        else:
            self.virtual_size = Size(self.size.width, total)
        # Not `scroll_to`: it does nothing before the scrollbar shows, which it does a frame later.
        self.scroll_target_y = self.scroll_y = self._window.y
        self._placing = False
        self._draw()

    def _draw(self) -> None:
        """Draw the lines that have changed."""
        if len(self._strips) > MANY:
            self._strips.clear()
        before, self._shown = self._shown, [self._at(y) for y in range(self.size.height)]
        if len(before) != len(self._shown):
            self.refresh()
            return
        for y, (old, new) in enumerate(zip(before, self._shown, strict=True)):
            if old is not new:
                self.refresh(Region(0, y, self.size.width, 1))

    def _draw_all(self) -> None:
        """Draw every line anew."""
        self._strips.clear()
        self._shown = []
        self._draw()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """The reader moves: lay out what comes into view."""
        super().watch_scroll_y(old_value, new_value)
        resized = self.size.height != self._window.height  # it is the terminal that moves, and not the reader
        if not self._placing and not resized and self.scroll_offset.y != self._window.y:
            self._window.scroll(self.scroll_offset.y)
            self._show()

    def on_resize(self) -> None:
        """Go on showing the same part of the same entry."""
        width, height = self.size
        self._window.resize(max(min(width - 2 * LEFT, WIDEST), 1), height)
        self._show()
        self._draw_all()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """With Shift, show what is right of the code under the pointer."""
        if event.shift:
            self._sideways(event, SIDEWAYS)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """With Shift, show what is left of it."""
        if event.shift:
            self._sideways(event, -SIDEWAYS)

    def on_mouse_scroll_right(self, event: events.MouseScrollRight) -> None:
        """As down with Shift."""
        self._sideways(event, SIDEWAYS)

    def on_mouse_scroll_left(self, event: events.MouseScrollLeft) -> None:
        """As up with Shift."""
        self._sideways(event, -SIDEWAYS)

    def _sideways(self, event: events.MouseEvent, cells: int) -> None:
        event.stop()
        self._move(self._window.under(event.y), cells)

    # Drawing

    def render_line(self, y: int) -> Strip:
        """Row `y` of the view."""
        return self._shown[y] if y < len(self._shown) else _NOTHING

    def _at(self, y: int) -> Strip:
        row, column = self._window.y + y, self._window.column
        strip = self._line(*column.at(row)) if row < column.total else _NOTHING
        if y == self.size.height - 1 and not self.following:
            return self._with_chip(strip)
        return strip

    def _line(self, index: int, at: int) -> Strip:
        """A row of an entry, from one edge of the screen to the other."""
        lines = self.entries[index].lines(self._window.column.width)
        row = lines[min(at, len(lines) - 1)]
        known = self._strips.get((index, at))
        if known is None or known[0] is not row:
            known = self._strips[index, at] = row, self._compose_line(index, at, row)
        return known[1]

    def _compose_line(self, index: int, at: int, row: Row) -> Strip:
        entry, width = self.entries[index], self.size.width
        left, text, right, skipped = row.view(self._window.column.width, entry.shift)
        key, first = index * ROWS + at, FIRST + skipped
        if self.text_selection is not None and (span := self.text_selection.get_span(key)) is not None:
            text = self._select(text, *(max(x - first, 0) if x >= 0 else x for x in span))
        edge = Segment("▎ " if entry is self.current and at > 0 else "  ", _MARK)
        number = first - LEFT - len(left.text)
        segments = []
        for part, style, _ in [edge, *left, *text, *right]:
            segments.append(
                Segment(part, (style or Style.null()) + Style.from_meta({"offset": (number, key)}))
            )
            number += len(part)
        used = LEFT + left.cell_length + text.cell_length + right.cell_length
        segments.append(Segment(" " * max(width - used, 0)))
        if self._ground is None:
            self._ground = self.rich_style
        strip = Strip(Segment.apply_style(segments, self._ground), max(width, used))
        return strip if used <= width else strip.crop(0, width)

    def notify_style_update(self) -> None:
        """Other colours: draw every line anew."""
        super().notify_style_update()
        self._ground = None
        if self.is_mounted:
            self._draw_all()

    def _with_chip(self, strip: Strip) -> Strip:
        """Over the last row, while the reader is not at the end: what came, and the way there."""
        new = self._window.unseen
        words = f"{new:,} new line{'s' if new > 1 else ''}" if new else "end"
        chip = Strip([Segment(f" ▼ {words} ", _CHIP)])
        strip = strip.adjust_cell_length(self.size.width)
        start = max(strip.cell_length - chip.cell_length - LEFT, 0)
        rest = strip.crop(start + chip.cell_length)
        return Strip.join([strip.crop(0, start), chip, rest]).crop(0, strip.cell_length)

    # Selecting

    def text_select_all(self) -> None:
        """Select the current entry, not all of them."""
        if self.current is not None:
            index = self.entries.index(self.current)
            span = Selection(Offset(0, index * ROWS), Offset(0, (index + 1) * ROWS))
            self.screen.selections = {self: span}

    def _select(self, strip: Strip, start: int, end: int) -> Strip:
        style = self.screen.get_component_rich_style("screen--selection")
        text = Text.assemble(*((segment.text, segment.style or Style()) for segment in strip))
        text.stylize(style, start, len(text) if end == -1 else end)
        return Strip(text.render(self.app.console))

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text: lines as the model broke them, not as the screen did; no decoration.

        A selection without a beginning or an end goes as far as the view does.
        """
        column, seen = self._window.column, self._window.seen
        if not seen:
            return None
        first = selection.start.y // ROWS if selection.start else seen.start
        last = selection.end.y // ROWS if selection.end else seen.stop - 1
        copied = ""
        for index in range(first, min(last, len(column.entries) - 1) + 1):
            for at, row in enumerate(column.entries[index].lines(column.width)):
                copied += _copied(row, selection.get_span(index * ROWS + at))
        return copied.strip("\n"), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Draw it."""
        self._draw_all()


def _copied(row: Row, span: tuple[int, int] | None) -> str:
    if span is None:
        return ""
    start, end = (max(x - FIRST, 0) if x >= 0 else None for x in span)
    text = row.copied(start or 0, end)
    return (text.rstrip() if row.joint == "\n" else text) + row.joint
