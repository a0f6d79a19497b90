"""Parts of an answer that were copied from a file: marked in the text, and listed below it.

"Copied from" is all that is known: the same words stand there. It says nothing about truth.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markdown_it.token import Token
from rich.style import Style
from rich.text import Text

from app.chats.records import Span
from app.files.sources import source
from app.tui.terminal import palette

COPIED = Style(underline=True)
NUMBER = Style(color=palette.ACCENT, bold=True, meta={"aside": True})  # no part of a copy
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Mark:
    """A part of a text, by its characters, with the number of its source."""

    start: int
    end: int
    number: int

    def within(self, start: int, end: int) -> Mark | None:
        """What of it lies in text[start:end], counted from there; None if nothing."""
        first, last = max(self.start, start), min(self.end, end)
        return Mark(first - start, last - start, self.number) if first < last else None


def raised(number: int) -> str:
    """A number as footnotes have it."""
    return str(number).translate(_RAISED)


def numbered(spans: Sequence[Span]) -> list[tuple[int, Span]]:
    """The spans with their sources' numbers: the same lines of the same file have the same."""
    numbers: dict[tuple[str, str, int, int], int] = {}
    return [(numbers.setdefault(_source(span), len(numbers) + 1), span) for span in spans]


def sources(spans: Sequence[Span]) -> list[tuple[str, str]]:
    """For each number a sign and a line of words."""
    listed = dict(numbered(spans))
    return [(raised(number), _words(span)) for number, span in listed.items()]


def _source(span: Span) -> tuple[str, str, int, int]:
    return span.path, span.sha256, span.first_line, span.last_line


def _words(span: Span) -> str:
    return f"{source(span)} · sha256 {span.sha256[:8]}…"


def mark_text(text: Text, marks: Iterable[Mark]) -> Text:
    """Plain text or code with its marks."""
    marks = sorted(marks, key=lambda mark: mark.end)
    for mark in marks:
        text.stylize(COPIED, mark.start, mark.end)
    first, *rest = text.divide([mark.end for mark in marks])
    for mark, part in zip(marks, rest, strict=True):
        first.append(raised(mark.number), NUMBER).append_text(part)
    return first


def mark_tokens(tokens: Iterable[Token], source: str, marks: Sequence[Mark]) -> None:
    """Put marks into parsed Markdown: its texts stand in the source in the same order, among the syntax.

    Args:
        tokens: of `source`; their children change.
        source: Markdown.
        marks: of the source.
    """
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    at = 0
    found: list[tuple[Token, list[tuple[Token, list[int]]]]] = []
    for token in tokens:
        if token.type not in ("inline", "fence", "code_block"):
            continue
        if token.map is not None:
            at = max(at, starts[token.map[0]])
        parts = []
        for part in token.children or [] if token.type == "inline" else [token]:
            places, at = _find(part.content, source, at)
            parts.append((part, places))
        found.append((token, parts))
    lasts = _lasts(marks, [place for _, parts in found for _, places in parts for place in places])
    for token, parts in found:
        if token.type == "inline":
            token.children = [made for part in parts for made in _split(*part, marks, lasts)]
        else:
            runs = _runs(parts[0][1], marks)
            token.meta["marks"] = [Mark(start, end, number) for start, end, number in runs if number]


def _lasts(marks: Sequence[Mark], places: Sequence[int]) -> set[int]:
    """Where the last character of each mark is that shows."""
    return {max((p for p in places if mark.start <= p < mark.end), default=-1) for mark in marks}


def _find(content: str, source: str, at: int) -> tuple[list[int], int]:
    """Where each character of `content` stands in `source` from `at` on, or -1; and where to go on."""
    places: list[int] = []
    for line in content.splitlines(keepends=True):
        found = source.find(line, at)
        if found >= 0:
            places += range(found, found + len(line))
            at = found + len(line)
            continue
        for character in line:  # the syntax between them, such as a backslash, is not shown
            found = source.find(character, at)
            places.append(found)
            at = found + 1 if found >= 0 else at
    return places, at


def _runs(places: Sequence[int], marks: Sequence[Mark]) -> list[tuple[int, int, int]]:
    """(start, end, number) of a text cut where marks begin and end; 0 is no mark."""
    numbers = [next((m.number for m in marks if m.start <= place < m.end), 0) for place in places]
    cuts = [i for i, number in enumerate(numbers) if i == 0 or numbers[i - 1] != number]
    return [(start, end, numbers[start]) for start, end in pairwise([*cuts, len(numbers)])]


def _split(token: Token, places: Sequence[int], marks: Sequence[Mark], lasts: set[int]) -> list[Token]:
    if token.type not in ("text", "code_inline"):
        return [token]
    made = []
    for start, end, number in _runs(places, marks):
        part = token.copy(content=token.content[start:end])
        if not number:
            made.append(part)
            continue
        made += [Token("copied_open", "copied", 1), part, Token("copied_close", "copied", -1)]
        if places[end - 1] in lasts:
            made += [
                Token("number_open", "number", 1),
                Token("text", "", 0, content=raised(number)),
                Token("number_close", "number", -1),
            ]
    return made
