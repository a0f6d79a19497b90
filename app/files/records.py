"""A text file as it was read, and a part of an answer that stands in one. Plain records."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Attachment:
    """A text file as it was read.

    Attributes:
        path: as the person would name it again: absolute.
        sha256: of the file's bytes, in hex.
        size: bytes.
        encoding: that its bytes were decoded with.
        text: its content, line ends as in the file.
    """

    path: str
    sha256: str
    size: int
    encoding: str
    text: str


@dataclass(frozen=True)
class Span:
    """A part of an answer that stands word for word in an attached file: copied from it.

    Attributes:
        start, end: characters of the answer's text; the part is text[start:end].
        sha256: of the attachment; path: its name.
        first_line, last_line: of the file, from 1.
    """

    start: int
    end: int
    sha256: str
    path: str
    first_line: int
    last_line: int
