"""The last thing before the terminal: whatever was drawn, and by whom, no control character passes."""

from __future__ import annotations

import re

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")  # they take no cell, so a line without them is as wide
_SURROGATES = re.compile(r"[\ud800-\udfff]")


class Harmless(LineFilter):
    """Leaves out what a terminal obeys. Who shows texts of others makes it visible before."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments without control characters."""
        if all(text.isprintable() for text, _, _ in segments):
            return segments
        return [
            Segment(_SURROGATES.sub("\ufffd", _CONTROLS.sub("", text)), style, control)
            for text, style, control in segments
        ]


HARMLESS = Harmless()
