"""The line on stderr that says what is going on before the first token."""

from __future__ import annotations

import os
import shutil
from typing import TextIO

from app.display import neutralise


class Status:
    """On a terminal one line that is overwritten and cleared; elsewhere a line for each sentence."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._live = stream.isatty() and os.environ.get("TERM") != "dumb"
        self._shown = False

    def show_passing(self, sentence: str) -> None:
        """Show what is of interest only while it lasts: nothing outside a terminal."""
        if self._live:
            self.show(sentence)

    def show(self, sentence: str) -> None:
        text = neutralise(sentence)
        if self._live:
            width = shutil.get_terminal_size().columns - 1
            self._stream.write(f"\r\x1b[K{text[:width]}")
            self._shown = True
        else:
            self._stream.write(f"specchat: {text}\n")
        self._stream.flush()

    def clear(self) -> None:
        """Leave the line empty, if it was written to."""
        if self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._shown = False
