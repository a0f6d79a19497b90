"""What a person types, or a script holds: messages of one line or several."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable
from types import ModuleType
from typing import TextIO

from app.display import neutralise
from app.line.signals import Signals
from app.line.voice import Voice

BLOCK = '"""'  # alone on a line: opens a message of several lines, and closes it
_MORE = "More: "


class Reader:
    """Reads from a terminal, with editing and history where Python has them; or from anything else.

    What does not come from a terminal is written out, so that the whole chat can be read.

    Attributes:
        live: a person types.
    """

    def __init__(self, stream: TextIO, voice: Voice, signals: Signals) -> None:
        """Args:
        stream: stdin.
        voice: that prompts.
        signals: what may break a line off.
        """
        self._stream = stream
        self._voice = voice
        self._signals = signals
        self.live = stream.isatty() and voice.out.isatty()
        self._editor = _editor() if self.live else None

    def remember(self, questions: Iterable[str]) -> None:
        """Let the arrow keys bring these back, the last first."""
        if self._editor is not None:
            for question in questions:
                self._editor.add_history(neutralise(question))

    def message(self, prompt: str, draft: str = "") -> str | None:
        """The next message; None at the end of the input.

        A backslash at the end of a line continues it, and so does BLOCK until the next BLOCK.

        Args:
            prompt: says whose turn it is.
            draft: to begin with, where lines can be edited.

        Raises:
            KeyboardInterrupt: a signal came first.
        """
        lines: list[str] = []
        block = False
        while True:
            line = self._line(_MORE if lines or block else prompt, draft)
            draft = ""
            if line is None and not lines:
                return None
            if line is None or (block and line.strip() == BLOCK):
                break
            if not lines and not block and line.strip() == BLOCK:
                block = True
                continue
            goes_on = not block and line.endswith("\\")
            lines.append(line[:-1] if goes_on else line)
            if not goes_on and not block:
                break
        text = "\n".join(lines)
        if not self.live:
            self._voice.tell(f"{prompt}{text}")
        elif text.strip():
            self.remember([text])
        return text

    def _line(self, prompt: str, draft: str) -> str | None:
        if not self.live:
            with self._signals.breaking():
                line = self._stream.readline()
            return line.removesuffix("\n").removesuffix("\r") if line else None
        if self._editor is not None and draft and "\n" not in draft:
            editor = self._editor
            editor.set_startup_hook(lambda: editor.insert_text(neutralise(draft)))
        try:
            with self._signals.breaking():
                return input(prompt)
        except EOFError:
            self._voice.out.write("\n")
            return None
        except KeyboardInterrupt:
            self._voice.out.write("\n")
            raise
        finally:
            if self._editor is not None:
                self._editor.set_startup_hook()


def _editor() -> ModuleType | None:
    """Python's readline; None where it was built without, or would move the cursor of a dumb terminal."""
    if os.environ.get("TERM") == "dumb":
        return None
    try:
        editor = importlib.import_module("readline")
    except ImportError:
        return None
    editor.set_auto_history(False)  # a message of several lines is one entry
    return editor
