"""Markdown that arrives in pieces, cut into blocks as soon as each is complete.

A block, once closed, is never touched again, so that a long answer costs no more to show than a
short one. Only the lines at the end, the open block, can still grow.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_FENCE = re.compile(r"^\s*(?:(?:[-*+]|\d{1,9}[.)])\s+)*(?P<mark>`{3,}(?=[^`]*$)|~{3,})(?P<info>.*)$")
_HEADING = re.compile(r"^#{1,6}(\s|$)")


@dataclass(frozen=True)
class Block:
    """A closed block.

    Attributes:
        text: its Markdown; of a fence, the code alone.
        language: of a fence, the first word after its mark; None for anything else.
        start: where it stands in all of the Markdown.
    """

    text: str
    language: str | None = None
    start: int = field(default=0, compare=False)


class Blocks:
    """Takes Markdown in pieces of any size.

    Attributes:
        closed: the blocks that are complete.
        lines: the complete lines of the open block.
        tail: the line that has not ended yet.
        language: of the open block if it is a fence, else None.
    """

    def __init__(self) -> None:
        self.closed: list[Block] = []
        self.lines: list[str] = []
        self.tail = ""
        self.language: str | None = None
        self._mark = ""  # of the fence that is open, at any depth
        self._blank = False  # the open block ends with blank lines
        self._at = 0  # where the line that is read begins
        self._start = 0  # where the open block does

    def feed(self, text: str) -> None:
        """Add a piece."""
        *lines, self.tail = (self.tail + text).split("\n")
        for line in lines:
            self._line(line)
            self._at += len(line) + 1
        if self._blank and self.tail[:1].strip():
            self._close()

    def finish(self) -> None:
        """The text is at its end: whatever is open is complete."""
        if self.tail:
            self._line(self.tail)
            self.tail = ""
        self._close()

    def _line(self, line: str) -> None:
        if self._mark:
            self._fenced(line)
            return
        if not line.strip():
            if self.lines:
                self.lines.append(line)
                self._blank = True
            return
        # An indented line may belong to a list item before the blank line; one at the margin does not.
        if self._blank and not line[0].isspace():
            self._close()
        if fence := _FENCE.match(line):
            self._mark = fence["mark"]
            if line.startswith(self._mark):  # at the margin, so a block of its own
                self._close()
                self.language = (fence["info"].split() or [""])[0]
                return
        elif _HEADING.match(line):
            self._close()
            self._append(line)
            self._close()
            return
        self._append(line)
        self._blank = False

    def _fenced(self, line: str) -> None:
        mark = line.strip()
        ends = len(mark) >= len(self._mark) and set(mark) == {self._mark[0]}
        if ends:
            self._mark = ""
        if ends and self.language is not None:
            self._close()
        else:
            self._append(line)

    def _append(self, line: str) -> None:
        if not self.lines:
            self._start = self._at
        self.lines.append(line)

    def _close(self) -> None:
        if self.language is not None:
            self.closed.append(Block("\n".join(self.lines), self.language, self._start))
        elif text := "\n".join(self.lines).rstrip():
            self.closed.append(Block(text, None, self._start))
        self.lines, self.language, self._blank = [], None, False
