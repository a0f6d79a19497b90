"""How `ask` writes an answer while it comes: as text, as JSON lines, or not before its end."""

from __future__ import annotations

import sys
from typing import TextIO

from app.answer import as_event, dump
from app.display import neutralise
from app.thinking import Split
from mlx_spec.events import Round


class Output:
    """Writes nothing, which is what one whole object at the end wants.

    Attributes:
        shows: rounds appear as they come.
    """

    shows = False

    def prefilled(self, read: int, total: int) -> None:
        """Some of the prompt is read."""

    def round(self, news: Round, split: Split) -> None:
        """A round came."""

    def close(self) -> None:
        """No more rounds come."""


class Lines(Output):
    """One JSON line an event on stdout."""

    shows = True

    def prefilled(self, read: int, total: int) -> None:
        self._write({"event": "prefill", "read": read, "total": total})

    def round(self, news: Round, split: Split) -> None:
        self._write(as_event(news, split))

    @staticmethod
    def _write(event: dict[str, object]) -> None:
        sys.stdout.write(dump(event))
        sys.stdout.flush()


class Words(Output):
    """The answer on stdout, the thinking on stderr; each ends its last line."""

    shows = True

    def __init__(self) -> None:
        self._last = {sys.stdout: "\n", sys.stderr: "\n"}

    def round(self, news: Round, split: Split) -> None:
        self._write(sys.stderr, split.thought_text)
        if split.said:
            self._end_line(sys.stderr)
            self._write(sys.stdout, split.text)

    def close(self) -> None:
        self._end_line(sys.stderr)
        self._end_line(sys.stdout)

    def _write(self, stream: TextIO, text: str) -> None:
        if text:
            stream.write(neutralise(text))
            stream.flush()
            self._last[stream] = text[-1]

    def _end_line(self, stream: TextIO) -> None:
        if self._last[stream] != "\n":
            self._write(stream, "\n")
