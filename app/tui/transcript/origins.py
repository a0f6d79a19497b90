"""An answer with each token's origin showing: raw text, marked by style, never by colour alone."""

from __future__ import annotations

from collections.abc import Iterable

from rich.style import Style
from rich.text import Text

from app.speculation.origins import MEANINGS, kind
from app.tui.terminal import palette
from app.tui.text.rows import Row, wrap

STYLES = {
    "draft": Style(color=palette.ACCENT, underline=True),
    "target": Style(color=palette.WARM, bold=True),
    "plain": Style(),
    "prompt": Style(dim=True),  # what the prompt had opened: no token of the answer
}


def legend() -> Text:
    """What the styles mean, said in them."""
    text = Text()
    for name, mark in (("draft", "underlined"), ("target", "bold"), ("plain", "plain")):
        text.append("   " if text else "")
        text.append(mark, STYLES[name])
        text.append(f" {MEANINGS[name]}")
    return text


class Origins:
    """Grows with the answer. Each complete line is laid out once for a width."""

    def __init__(self) -> None:
        self._lines: list[Text] = [Text()]
        self._width = 0
        self._done: list[Row] = []  # of the complete lines
        self._done_lines = 0

    def feed(self, pieces: Iterable[tuple[str, str]]) -> None:
        """Add (origin, text) spans."""
        for origin, text in pieces:
            first, *more = text.split("\n")
            self._append(first, origin)
            for line in more:
                self._lines.append(Text())
                self._append(line, origin)

    def _append(self, text: str, origin: str) -> None:
        # The space that starts a word stays bare: so a reader sees where one token ends and the next begins.
        space = len(text) - len(text.lstrip(" ")) if text.strip() else 0
        self._lines[-1].append(text[:space])
        self._lines[-1].append(text[space:], STYLES[kind(origin)])

    def rows(self, width: int) -> list[Row]:
        """All rows at `width` cells."""
        if width != self._width:
            self._width, self._done, self._done_lines = width, [], 0
        for line in self._lines[self._done_lines : -1]:
            self._done += wrap(line.copy(), width)
        self._done_lines = len(self._lines) - 1
        return [*self._done, *(wrap(self._lines[-1].copy(), width) if self._lines[-1] else [])]
