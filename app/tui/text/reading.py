"""An answer as a reader wants it: closed blocks as Markdown, the open block as plain text."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from app.tui.text import markdown
from app.tui.text.blocks import Blocks
from app.tui.text.copied import Mark
from app.tui.text.rows import BLANK, Row, wrap


class Reading:
    """Grows with the answer. Each block and each complete line is laid out once for a width."""

    def __init__(self) -> None:
        self._blocks = Blocks()
        self._marks: Sequence[Mark] = ()
        self._width = 0
        self._forget()

    def _forget(self) -> None:
        self._settled: list[Row] = []  # of the closed blocks
        self._settled_blocks = 0
        self._forget_open()

    def _forget_open(self) -> None:
        self._open: list[Row] = []  # of the open block's complete lines
        self._open_lines = 0

    def feed(self, text: str) -> None:
        """Add a piece of the answer."""
        self._blocks.feed(text)

    def mark(self, marks: Sequence[Mark]) -> None:
        """Mark parts of what was fed, by its characters."""
        self._marks = marks
        self._forget()

    def finish(self) -> None:
        """The answer is complete."""
        self._blocks.finish()

    def rows(self, width: int) -> list[Row]:
        """All rows at `width` cells."""
        if width != self._width:
            self._width = width
            self._forget()
        self._settle()
        self._extend_open()
        open_rows = [*self._open, *self._line(self._blocks.tail)] if self._blocks.tail else self._open
        gap = [BLANK] if self._settled and open_rows else []
        return [*self._settled, *gap, *open_rows]

    def _settle(self) -> None:
        for block in self._blocks.closed[self._settled_blocks :]:
            end = block.start + len(block.text)
            marks = [part for mark in self._marks if (part := mark.within(block.start, end))]
            rows = markdown.render(block, self._width, marks)
            self._settled += [BLANK, *rows] if self._settled and rows else rows
            self._forget_open()
        self._settled_blocks = len(self._blocks.closed)

    def _extend_open(self) -> None:
        if self._blocks.language and not self._open:
            self._open = markdown.label(self._blocks.language, self._width)
        for line in self._blocks.lines[self._open_lines :]:
            self._open += self._line(line)
        self._open_lines = len(self._blocks.lines)

    def _line(self, line: str) -> list[Row]:
        text = Text(line)
        if self._blocks.language is None:
            return wrap(text, self._width)
        return [markdown.code(text)]
