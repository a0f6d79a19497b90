"""What the transcript holds: each entry lays itself out, and is drawn by whoever shows it."""

from __future__ import annotations

from collections.abc import Callable

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from app.desk.commands import BY_NAME, key_name
from app.display import neutralise
from app.files.records import Attachment
from app.files.tray import told
from app.tui.terminal import palette
from app.tui.text.rows import BLANK, Row, wrap

NOTE = Style(color=palette.MUTED)
# What somebody who is here for the first time may do, beside asking.
_FIRST = (
    ("/attach", "a text file that your question is about"),
    (key_name(BY_NAME["chats"].key), "earlier chats"),
    (key_name(BY_NAME["help"].key), "help: commands and keys"),
)
_ARROW = Style(color=palette.ACCENT, bold=True)


def action(name: str) -> Style:
    """The style of text that a click acts on: the transcript does `name`."""
    return Style.from_meta({"act": name})


def decoration(*parts: tuple[str, Style]) -> Row:
    """A row that is no part of a copy."""
    return Row(Strip([Segment(text, style) for text, style in parts]), end=0, joint="")


def height_of(text: str, width: int) -> int:
    """About how many rows a text takes."""
    cells = 1 if text.isascii() else 1.3
    return sum(int(len(line) * cells) // max(width, 1) + 1 for line in text.split("\n"))


class Entry:
    """One thing in the transcript.

    Rows are made when they are asked for. They are kept until the entry changes, another width is asked
    for, or nobody needs them for now.

    Attributes:
        message_id: of the message in its chat, or None where it is none, or is not known yet.
        branch: which of how many siblings the message is, from 1.
        shift: how many cells its wide rows are moved sideways.
    """

    def __init__(self) -> None:
        self.message_id: int | None = None
        self._branch: tuple[int, int] | None = None
        self.shift = 0
        self._lines: list[Row] | None = None
        self._width = 0
        self.on_change: Callable[[Entry], None] = lambda entry: None

    @property
    def branch(self) -> tuple[int, int] | None:
        return self._branch

    @branch.setter
    def branch(self, branch: tuple[int, int] | None) -> None:
        if branch != self._branch:
            self._branch = branch
            self.changed()

    @property
    def at_hand(self) -> bool:
        """Laying it out costs little."""
        return True

    def changed(self) -> None:
        """Its rows are no longer right."""
        self._lines = None
        self.on_change(self)

    def forget(self) -> None:
        """Nobody needs its rows for now."""
        self._lines = None

    def lines(self, width: int) -> list[Row]:
        """All its rows at `width` cells, with the gap above it."""
        if self._lines is None or self._width != width:
            self._width = width
            self._lines = [BLANK, *self._header(), *self.rows(width)]
        return self._lines

    def estimate(self, width: int) -> int:
        """About how many rows it has, without laying it out."""
        raise NotImplementedError

    def rows(self, width: int) -> list[Row]:
        """Its own rows."""
        raise NotImplementedError

    def _header(self) -> list[Row]:
        """Where there are siblings, which of them this is, with arrows to the others."""
        if self._branch is None or self._branch[1] < 2:
            return []
        number, of = self._branch
        before = ("‹", _ARROW + action("previous")) if number > 1 else ("‹", NOTE)
        after = ("›", _ARROW + action("next")) if number < of else ("›", NOTE)
        return [decoration(before, (f" {number} of {of} ", NOTE), after)]


class Question(Entry):
    """What the person asked, with the names of its files.

    Attributes:
        text, said: the question.
    """

    def __init__(self, text: str, attachments: tuple[Attachment, ...] = ()) -> None:
        super().__init__()
        self.text = self.said = text
        self._attachments = attachments

    def estimate(self, width: int) -> int:
        """Rows."""
        return 1 + height_of(self.text, width - 3) + len(self._attachments)

    def rows(self, width: int) -> list[Row]:
        """Its text on a ground of its own, beside a bar."""
        bar = Segment("▌", Style(color=palette.ACCENT, bgcolor=palette.RAISED))
        ground = Style(bgcolor=palette.RAISED)
        inner = max(width - 3, 1)
        written = [row for line in neutralise(self.text).split("\n") for row in wrap(Text(line), inner)]
        files = [decoration((f"+ {neutralise(told(file))}", NOTE)) for file in self._attachments]
        rows = []
        for row in [*written, *files]:
            text = Segment.apply_style(row.strip.crop(0, inner).adjust_cell_length(inner), ground)
            strip = Strip([bar, Segment(" ", ground), *text, Segment(" ", ground)])
            end = 2 + (len(row.strip.text) if row.end is None else row.end)
            rows.append(Row(strip, 2, end, row.joint))
        return rows


class Notice(Entry):
    """A word from the program itself: a warning, or a failure with its next step."""

    def __init__(self, symbol: str, message: str, next_step: str = "") -> None:
        super().__init__()
        head = Style(color=palette.BAD if symbol == "▲" else palette.WARM, bold=True)
        self._symbol = Segment(f"{symbol} ", head)
        self._text = Text(neutralise(message))
        if next_step:
            self._text.append(f"\n{neutralise(next_step)}", NOTE)

    def estimate(self, width: int) -> int:
        """Rows."""
        return 1 + height_of(self._text.plain, width - 2)

    def rows(self, width: int) -> list[Row]:
        """Symbol, message and next step; all lines stand below each other."""
        rows = [row for line in self._text.split("\n", allow_blank=True) for row in wrap(line, width - 2)]
        edges = [self._symbol, *[Segment("  ")] * (len(rows) - 1)]
        return [
            Row(Strip([edge, *row.strip]), 2, None, row.joint) for edge, row in zip(edges, rows, strict=True)
        ]


class Welcome(Entry):
    """What an empty chat shows: what there is to do first."""

    def estimate(self, width: int) -> int:
        """Rows."""
        return 4 + len(_FIRST)

    def rows(self, width: int) -> list[Row]:
        """Name, motto, first steps."""
        name = Style(color=palette.ACCENT, bold=True)
        return [
            decoration(("specchat", name)),
            decoration(("A draft proposes, the model decides.", NOTE)),
            BLANK,
            *(decoration((f"{key:<9}", name), (words, NOTE)) for key, words in _FIRST),
        ]
