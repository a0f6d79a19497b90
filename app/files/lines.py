"""The lines of a text as editors count them: CR LF, LF and CR end a line, and nothing else does."""

from __future__ import annotations

import re

_END = re.compile(r"\r\n|\r|\n")


def line_starts(text: str) -> list[int]:
    """Where each line starts; the first starts at 0, and a line end at the end of the text starts none."""
    starts = [0, *(end.end() for end in _END.finditer(text))]
    if len(starts) > 1 and starts[-1] == len(text):
        starts.pop()
    return starts
