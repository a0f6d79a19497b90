"""Text as it is searched: neither case nor the way a character is composed counts."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right

AROUND = 60  # characters of a snippet before what was found, and after it


def fold(text: str) -> str:
    """The form in which texts are compared: composed (NFC) and case-folded."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def find(text: str, folded: str) -> tuple[int, int] | None:
    """Where in `text` the first part lies whose folded form is `folded`: text[start:end]; None if nowhere."""
    whole = fold(text)
    at = whole.find(folded)
    if at < 0:
        return None
    end = at + len(folded)
    if len(whole) == len(text.casefold()) == len(text) and unicodedata.is_normalized("NFC", text):
        return at, end  # character by character
    return _first_of(text, at), _last_of(text, end)


def _first_of(text: str, at: int) -> int:
    """The first character that the folded text's character `at` comes from."""
    base, line, at = _line_of(text, at)
    # The folded length of a beginning of the text never falls as the beginning grows.
    start = bisect_right(range(len(line)), at, key=lambda n: len(fold(line[:n]))) - 1
    while start and unicodedata.combining(line[start]):
        start -= 1  # marks on one character have no order of their own
    return base + start


def _last_of(text: str, end: int) -> int:
    """The end of what the folded text's character before `end` comes from."""
    base, line, end = _line_of(text, end - 1)
    last = bisect_right(range(len(line)), end, key=lambda n: len(fold(line[:n])))
    while last < len(line) and (unicodedata.combining(line[last]) or len(fold(line[: last + 1])) <= end + 1):
        last += 1  # what is composed with the last character belongs to it
    return base + last


def _line_of(text: str, at: int) -> tuple[int, str, int]:
    """The line, with its end, of the folded text's character `at`: where it starts, and the place in it.

    Nothing is composed over the end of a line, so that lines fold one by one.
    """
    base = 0
    for line in _lines(text):
        folded = len(fold(line))
        if at < folded:
            return base, line, at
        base, at = base + len(line), at - folded
    return base, "", 0


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + lines[-1:]


def snippet(text: str, start: int, end: int) -> tuple[str, int, int]:
    """One line of `text` around text[start:end], and where that part lies in it."""
    first = max(0, start - AROUND)
    line = "".join(" " if char.isspace() else char for char in text[first : end + AROUND])
    return line, start - first, end - first
