"""Where a part of an answer was copied from, in words. It says nothing about truth."""

from __future__ import annotations

from pathlib import PurePath

from app.display import neutralise
from app.files.records import Span


def source(span: Span) -> str:
    """The file and its lines."""
    name = neutralise(PurePath(span.path).name)
    one = span.first_line == span.last_line
    lines = f"line {span.first_line}" if one else f"lines {span.first_line}-{span.last_line}"
    return f"copied from {name}, {lines}"
