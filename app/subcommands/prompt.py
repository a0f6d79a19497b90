"""The question of `ask`: its argument and the text piped in."""

from __future__ import annotations

import os
from typing import TextIO

from app.errors import UsageError

_NEXT = 'Write specchat ask "QUESTION", or pipe text in.'


def read(argument: str | None, stdin: TextIO | None, *, text_first: bool = False) -> tuple[str, list[str]]:
    """The prompt, and sentences about its bytes that the person must see.

    The argument comes first, then a blank line, then the piped text. The argument "-" stands for
    stdin, also if that is a terminal.

    Args:
        argument: from the command line; None if there is none.
        stdin: None if it is closed.
        text_first: the piped text comes before the argument, so that another question about the same
            text starts as this one does.

    Raises:
        UsageError: there is nothing to answer.
    """
    terminal = stdin is not None and stdin.isatty()
    if argument is None and terminal:
        raise UsageError("There is no prompt.", _NEXT)

    warnings: list[str] = []
    parts = []
    if argument not in (None, "-"):
        # fsencode gives back the bytes of an argument that was not UTF-8.
        parts.append(_decode(os.fsencode(argument), "The prompt", warnings))
    if stdin is not None and (not terminal or argument == "-"):
        parts.append(_decode(stdin.buffer.read(), "Standard input", warnings))
    if text_first:
        parts.reverse()
    # Like $(...), which also drops the newline that echo and files end with.
    text = "\n\n".join(part for part in (part.rstrip("\r\n") for part in parts) if part)
    if not text.strip():
        raise UsageError("The prompt is empty.", _NEXT)
    return text, warnings


def _decode(raw: bytes, what: str, warnings: list[str]) -> str:
    """UTF-8 text; bytes that are none become U+FFFD, which is said."""
    raw = raw.removeprefix(b"\xef\xbb\xbf")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        warnings.append(
            f"{what} is not UTF-8 (first at byte {error.start}): such bytes were replaced by \ufffd."
        )
        return raw.decode("utf-8", errors="replace")
