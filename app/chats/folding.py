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
    # The folded length of a beginning of the text never falls as the beginning grows.
    start = bisect_right(range(len(text)), at, key=lambda n: len(fold(text[:n]))) - 1
    last = bisect_right(range(len(text)), end - 1, lo=start, key=lambda n: len(fold(text[:n])))
    while last < len(text) and len(fold(text[: last + 1])) <= end:
        last += 1  # what is composed with the last character belongs to it
    # Marks on one character have no order of their own.
    while start and unicodedata.combining(text[start]):
        start -= 1
    while last < len(text) and unicodedata.combining(text[last]):
        last += 1
    return start, last


def snippet(text: str, start: int, end: int) -> tuple[str, int, int]:
    """One line of `text` around text[start:end], and where that part lies in it."""
    first = max(0, start - AROUND)
    line = "".join(" " if char.isspace() else char for char in text[first : end + AROUND])
    return line, start - first, end - first
