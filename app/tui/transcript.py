"""The transcript: questions, answers and notices. It follows its end while the reader is there.

One widget draws everything, and only what the view shows, or is near it, is laid out: a long chat opens
as fast as a short one. What the reader looks at stays where it is, whatever happens above or below.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.events import (
    Click,
    MouseEvent,
    MouseScrollDown,
    MouseScrollLeft,
    MouseScrollRight,
    MouseScrollUp,
    Resize,
)
from textual.geometry import Offset, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from app.chats.records import Attachment, ChatMessage
from app.thinking import Markers
from app.tui import palette
from app.tui.answer import Answer
from app.tui.column import Column
from app.tui.entry import Entry, Notice, Question, Welcome, action
from app.tui.rows import Row

__all__ = ["Answer", "Notice", "Question", "Transcript"]

WIDEST = 112  # cells of text
LEFT = 2  # cells before it
SIDEWAYS = 4  # cells a turn of the wheel
NEAR = 1  # views above and below that are laid out ahead
KEPT = 8  # views above and below whose rows are kept
UNMARKED = Markers()  # but for what most models write
_FIRST = 8  # the number of a row's first character, for selections: the edges before it have some too
_ROWS = 1 << 24  # more than any entry has: numbers rows through all entries, for selections

Said: TypeAlias = Question | Answer


@dataclass(frozen=True)
class _Held:
    """What stays where it is: an entry, and its distance from the top of the view."""

    entry: Entry
    offset: int
    height: int


class Transcript(ScrollView):
    """Holds the chat. The prompt keeps the keyboard.

    Attributes:
        current: the message that the person stepped to or clicked, or None.
        following: the end of the chat stays in view when it grows.
        unseen: rows that came below the view since the reader left the end.
    """

    DEFAULT_CSS = """
    Transcript {
        height: 1fr;
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

    @dataclass
    class Step(Message):
        """The person wants another sibling of a message: the one before (-1), or after (1)."""

        message_id: int
        delta: int

    def __init__(self) -> None:
        super().__init__()
        self._column = Column()
        self._drawn: set[Entry] = set()
        self._placing = False
        self.following = True
        self.unseen = 0
        self.current: Said | None = None
        self._add(Welcome())

    # What it holds

    @property
    def messages(self) -> list[Said]:
        """Questions and answers, from the first to the last."""
        return [entry for entry in self._column.entries if isinstance(entry, Question | Answer)]

    @property
    def answers(self) -> list[Answer]:
        """The answers, from the first to the last."""
        return [entry for entry in self._column.entries if isinstance(entry, Answer)]

    def open(
        self,
        path: Sequence[ChatMessage],
        branches: Mapping[int, tuple[int, int]] = {},
        *,
        markers: Markers = UNMARKED,
        show_origins: bool = False,
    ) -> None:
        """Show another chat, or another branch of this one, at its end.

        Args:
            path: from the first message to the last that shows. What shows already stays as it is.
            branches: by message, which of how many siblings it is, from 1.
            markers: around the thinking in the answers.
            show_origins: as in `show_origins`.
        """
        known = {entry.message_id: entry for entry in self.messages if entry.message_id is not None}
        entries: list[Entry] = []
        for message in path:
            entry = known.get(message.id) or _entry(message, markers, show_origins)
            entry.on_change = self._changed
            entry.branch = branches.get(message.id)
            entries.append(entry)
        self.current = None
        self.unseen = 0
        self._column = Column(entries or [Welcome()], self._width)
        self._drawn &= set(entries)
        self.to_end()

    def ask(
        self,
        question: str,
        files: tuple[Attachment, ...] = (),
        *,
        show_origins: bool = False,
        show_thought: bool = False,
    ) -> Answer:
        """Add a question with its files and an empty answer, and go to the end."""
        self._add(Question(question, files))
        return self.begin(show_origins=show_origins, show_thought=show_thought)

    def begin(self, *, show_origins: bool = False, show_thought: bool = False) -> Answer:
        """Add an empty answer to what was said last, and go to the end."""
        answer = Answer(show_origins=show_origins, show_thought=show_thought)
        self._add(answer)
        self.to_end()
        return answer

    def break_off(self, answer: Answer) -> None:
        """Keep what the last answer said; if that is nothing, it goes, and its question with it."""
        if answer.text:
            answer.finish("■ broken off")
            return
        asked = [entry for entry in self.messages if isinstance(entry, Question)]
        self._remove(answer)
        self._remove(asked[-1])

    def notify_reader(self, notice: Notice, before: Answer | None = None) -> None:
        """Add a notice at the end, or before an answer."""
        self._add(notice, before)

    def show_origins(self, shown: bool) -> None:
        """Show or hide token origins everywhere."""
        with self._steady():
            for answer in self.answers:
                answer.show_origins = shown

    def show_thoughts(self, shown: bool) -> None:
        """Unfold or fold the thinking everywhere."""
        with self._steady():
            for answer in self.answers:
                answer.show_thought = shown

    # Where the reader is

    def turn(self, pages: int) -> None:
        """Scroll by pages, with one row in common."""
        self.scroll_relative(y=pages * max(self.size.height - 1, 1), animate=False)

    def to_end(self) -> None:
        """Go to the end, and follow it."""
        self.following = True
        self._place(None)

    def step(self, delta: int) -> None:
        """Make the message before (-1) or after (1) the current one current; after the last, none.

        Without a current one it begins at the last.
        """
        messages = self.messages
        at = messages.index(self.current) if self.current is not None else len(messages)
        at = max(at + delta, 0)
        self.choose(messages[at] if at < len(messages) else None)

    def choose(self, message: Said | None) -> None:
        """Make a message current, and show its beginning; or none."""
        self.current = message
        if message is None:
            self.to_end()
            return
        index = self._column.entries.index(message)
        self._column.settle(index)
        top, height = self._column.top(index), self._column.height(index)
        view = range(self.scroll_offset.y, self.scroll_offset.y + self.size.height)
        if not (top in view and top + height - 1 in view):
            offset = 0 if height > len(view) or top < view.start else len(view) - height
            self.following = False
            self._place(_Held(message, offset, height))
        self.refresh()

    def reach(self, cells: int) -> None:
        """Move wide code and tables sideways: of the current message, or of all in view."""
        seen = self._seen()
        for index in seen:
            entry = self._column.entries[index]
            if self.current in (None, entry) or self._column.entries.index(self.current) not in seen:
                self._move(entry, cells)

    def _move(self, entry: Entry, cells: int) -> None:
        width = self._column.width
        wide = [row.width for row in entry.lines(width) if row.ground is not None]
        entry.shift = max(min(entry.shift + cells, max(wide, default=0) - width), 0)
        self.refresh()

    # Keeping it in place

    @property
    def _width(self) -> int:
        return max(min(self.size.width - 2 * LEFT, WIDEST), 1)

    def _add(self, entry: Entry, before: Entry | None = None) -> None:
        entry.on_change = self._changed
        with self._steady():
            entries = self._column.entries
            if isinstance(entries[0] if entries else None, Welcome) and not isinstance(entry, Notice):
                self._column.remove(0)
            self._column.insert(len(entries) if before is None else entries.index(before), entry)

    def _remove(self, entry: Entry) -> None:
        if self.current is entry:
            self.current = None
        self._drawn.discard(entry)
        with self._steady():
            self._column.remove(self._column.entries.index(entry))

    def _changed(self, entry: Entry) -> None:
        with self._steady():
            if entry in self._column.entries:
                self._column.unsettle(self._column.entries.index(entry))

    @contextmanager
    def _steady(self) -> Iterator[None]:
        """Whatever is done to the entries, the reader goes on seeing what was seen."""
        if self._placing:  # many changes, one move
            yield
            return
        held = None if self.following else self._held()
        below = self._below()
        self._placing = True
        try:
            yield
        finally:
            self._placing = False
        self._place(held)
        if not self.following:
            self.unseen += max(self._below() - below, 0)

    def _held(self) -> _Held | None:
        """The first entry of the view whose height is certain: what is above may turn out otherwise."""
        column, y, seen = self._column, self.scroll_offset.y, self._seen()
        at = next((i for i in seen if column.exact(i)), seen.start)
        return _Held(column.entries[at], column.top(at) - y, column.height(at)) if seen else None

    def _seen(self) -> range:
        """The entries in view."""
        y = self.scroll_offset.y
        return self._column.between(y, y + self.size.height)

    def _below(self) -> int:
        """Rows below the view."""
        return max(self._column.total - self.scroll_offset.y - self.size.height, 0)

    def _place(self, held: _Held | None) -> None:
        """Lay out what is in view and near it, with `held` where it was; without it, at the end."""
        column, height = self._column, self.size.height
        if not height:
            return
        while True:
            y = column.total - height
            if held is not None and held.entry in column.entries:
                y = column.top(column.entries.index(held.entry)) - held.offset
            y = max(min(y, column.total - height), 0)
            near = column.between(y - NEAR * height, y + (NEAR + 1) * height)
            guessed = [i for i in near if not column.exact(i)]
            if not guessed:
                break
            for i in guessed:
                column.settle(i)
        self._keep(near, y)
        self._placing = True
        self.virtual_size = Size(self.size.width, column.total)
        # Not `scroll_to`: it does nothing before the scrollbar shows, which it does a frame later.
        self.scroll_target_y = self.scroll_y = y
        self._placing = False
        self.refresh()

    def _keep(self, near: range, y: int) -> None:
        """Let go of rows that are far away."""
        column, height = self._column, self.size.height
        kept = column.between(y - KEPT * height, y + (KEPT + 1) * height)
        around = set(column.entries[kept.start : kept.stop])
        for entry in self._drawn - around:
            entry.forget()
        self._drawn = (self._drawn & around) | set(column.entries[near.start : near.stop])

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """The reader moves: lay out what comes into view."""
        super().watch_scroll_y(old_value, new_value)
        if self._placing or round(old_value) == round(new_value):
            return
        self.following = self.scroll_offset.y >= self.max_scroll_y
        self.unseen = min(self.unseen, self._below())
        self._place(None if self.following else self._held())

    def on_mount(self) -> None:
        """Show what came before there was a place for it."""
        self._place(None)

    def on_resize(self, event: Resize) -> None:
        """Go on showing the same part of the same entry."""
        held = None if self.following else self._held()
        if self._width != self._column.width:
            self._column.resize(self._width)
            if held is not None and held.offset < 0:
                at = self._column.entries.index(held.entry)
                self._column.settle(at)
                offset = round(held.offset / held.height * self._column.height(at))
                held = _Held(held.entry, offset, self._column.height(at))
        self._place(held)

    # Drawing

    def render_line(self, y: int) -> Strip:
        """Row `y` of the view."""
        width, row_y = self.size.width, self.scroll_offset.y + y
        if row_y < self._column.total:
            index, at = self._column.at(row_y)
            strip = self._line(index, at)
        else:
            strip = Strip([])
        strip = strip.adjust_cell_length(width)
        if y == self.size.height - 1 and not self.following:
            strip = self._with_chip(strip)
        return strip.apply_style(self.rich_style)

    def _line(self, index: int, at: int) -> Strip:
        entry = self._column.entries[index]
        lines = entry.lines(self._column.width)
        row = lines[at] if at < len(lines) else lines[0]
        chosen = entry is self.current and at > 0
        edge = Strip([Segment("▎ " if chosen else "  ", Style(color=palette.ACCENT))])
        left, text, right, skipped = row.view(self._column.width, entry.shift)
        key, first = index * _ROWS + at, _FIRST + skipped
        if self.text_selection is not None and (span := self.text_selection.get_span(key)) is not None:
            text = self._select(text, *(max(x - first, 0) if x >= 0 else x for x in span))
        edge = Strip.join([edge, left]).apply_offsets(first - LEFT - len(left.text), key)
        return Strip.join([edge, text.apply_offsets(first, key), right])

    def _with_chip(self, strip: Strip) -> Strip:
        lines = f"{self.unseen:,} new line{'s' if self.unseen > 1 else ''}"
        text = f" ▼ {lines if self.unseen else 'end'} "
        style = Style(color=palette.GROUND, bgcolor=palette.ACCENT, bold=True) + action("end")
        chip = Strip([Segment(text, style)])
        start = max(strip.cell_length - chip.cell_length - LEFT, 0)
        end = start + chip.cell_length
        return Strip.join([strip.crop(0, start), chip, strip.crop(end)]).crop(0, strip.cell_length)

    # Pointing

    def on_click(self, event: Click) -> None:
        """Do what the text under the pointer stands for, or make its message current."""
        act = event.style.meta.get("act")
        if act == "end":
            self.to_end()
            return
        entry = self._under(event.y)
        if entry is None:
            return
        if act == "thought" and isinstance(entry, Answer):
            entry.show_thought = not entry.show_thought
        elif act in ("previous", "next") and entry.message_id is not None:
            self.post_message(self.Step(entry.message_id, -1 if act == "previous" else 1))
        elif isinstance(entry, Question | Answer):
            self.current = entry
            self.refresh()

    def on_mouse_scroll_down(self, event: MouseScrollDown) -> None:
        """With Shift, show what is right of the code under the pointer."""
        if event.shift:
            self._sideways(event, SIDEWAYS)

    def on_mouse_scroll_up(self, event: MouseScrollUp) -> None:
        """With Shift, show what is left of it."""
        if event.shift:
            self._sideways(event, -SIDEWAYS)

    def on_mouse_scroll_right(self, event: MouseScrollRight) -> None:
        """As down with Shift."""
        self._sideways(event, SIDEWAYS)

    def on_mouse_scroll_left(self, event: MouseScrollLeft) -> None:
        """As up with Shift."""
        self._sideways(event, -SIDEWAYS)

    def _sideways(self, event: MouseEvent, cells: int) -> None:
        event.stop()
        if (entry := self._under(event.y)) is not None:
            self._move(entry, cells)

    def _under(self, y: int) -> Entry | None:
        """The entry at row `y` of the view."""
        y += self.scroll_offset.y
        return self._column.entries[self._column.at(y)[0]] if y < self._column.total else None

    def text_select_all(self) -> None:
        """Select the current message, not the whole chat."""
        if self.current is not None:
            index = self._column.entries.index(self.current)
            span = Selection(Offset(0, index * _ROWS), Offset(0, (index + 1) * _ROWS))
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
        column, seen = self._column, self._seen()
        if not seen:
            return None
        first = selection.start.y // _ROWS if selection.start else seen.start
        last = selection.end.y // _ROWS if selection.end else seen.stop - 1
        copied = ""
        for index in range(first, min(last, len(column.entries) - 1) + 1):
            for at, row in enumerate(column.entries[index].lines(column.width)):
                copied += _copied(row, selection.get_span(index * _ROWS + at))
        return copied.strip("\n"), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Draw it."""
        self.refresh()


def _entry(message: ChatMessage, markers: Markers, show_origins: bool) -> Said:
    if message.role == "assistant":
        return Answer.kept(message, markers, show_origins=show_origins)
    question = Question(message.text, message.attachments)
    question.message_id = message.id
    return question


def _copied(row: Row, span: tuple[int, int] | None) -> str:
    if span is None:
        return ""
    start, end = (max(x - _FIRST, 0) if x >= 0 else None for x in span)
    text = row.copied(start or 0, end)
    return (text.rstrip() if row.joint == "\n" else text) + row.joint
