"""Long pasted texts, each shown as one chip until it is sent."""

from __future__ import annotations

import re

LINES = 8  # a longer paste is folded: it would fill the box
CHARACTERS = 1_000


class Pastes:
    """Which chip stands for which text. A chip is a label in the text, such as `[pasted 312 lines]`."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def fold(self, text: str, among: str) -> str:
        """The chip for `text`, which no other text and nothing in `among` is; or `text` if it is short."""
        lines = text.rstrip("\n").count("\n") + 1
        if lines <= LINES and len(text) <= CHARACTERS:
            return text
        what = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        label, n = f"[pasted {what}]", 1
        while label in among or label in self._texts:
            n += 1
            label = f"[pasted {what}, no. {n}]"
        self._texts[label] = text
        return label

    def unfold(self, text: str) -> str:
        """`text` with what its chips stand for."""
        if not self._texts:
            return text
        chips = "|".join(map(re.escape, self._texts))
        return re.sub(chips, lambda found: self._texts[found[0]], text)

    def chips(self, line: str) -> list[tuple[int, int]]:
        """Where chips stand in a line: (start, end) in characters."""
        return [found.span() for label in self._texts for found in re.finditer(re.escape(label), line)]

    def clear(self) -> None:
        """All were sent."""
        self._texts.clear()
