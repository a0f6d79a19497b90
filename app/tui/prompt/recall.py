"""What was asked before, to be asked again: Up and Down, as in a shell."""

from __future__ import annotations

from collections.abc import Iterable


class Recall:
    """Earlier texts, and the one that is being written, which is never lost on the way.

    A text that was changed after it was recalled stays changed until something is sent.
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._texts = list(texts)
        self._at = len(self._texts)
        self._written: dict[int, str] = {}

    def back(self, now: str) -> str | None:
        """The text before the one that is shown, which is now `now`; None if there is none."""
        return self._step(-1, now)

    def on(self, now: str) -> str | None:
        """The text after the one that is shown; at the end, what was being written."""
        return self._step(1, now)

    def add(self, text: str) -> None:
        """`text` was sent: it is the latest now."""
        if not self._texts or self._texts[-1] != text:
            self._texts.append(text)
        self._at = len(self._texts)
        self._written.clear()

    def _step(self, by: int, now: str) -> str | None:
        target = self._at + by
        if not 0 <= target <= len(self._texts):
            return None
        self._written[self._at] = now
        self._at = target
        stored = self._texts[target] if target < len(self._texts) else ""
        return self._written.get(target, stored)
