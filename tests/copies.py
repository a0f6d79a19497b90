"""What `copied` must find, worked out the long way: every part of an answer, looked up in every file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from hashlib import sha256

from app.files.provenance import CHARACTERS, WORDS
from app.files.records import Attachment, Span

# For texts of ASCII, Hangul and common Han alone.
WORD = re.compile(r"[一-龥]|[a-z0-9_가-힣]+|(?<!\S)[^\w\s]+(?!\S)", re.IGNORECASE)
LETTERS = re.compile(r"[a-z0-9_가-힣]{2}", re.IGNORECASE)
Part = tuple[int, int]


def attached(text: str, path: str = "/home/me/notes.txt") -> Attachment:
    raw = text.encode()
    return Attachment(path, sha256(raw).hexdigest(), len(raw), "UTF-8", text)


def copied_the_long_way(text: str, files: Sequence[str]) -> list[Part]:
    """Longest first, then leftmost, of the parts that count and overlap none chosen before."""
    parts = sorted(counting(text, files), key=lambda part: (part[0] - part[1], part[0]))
    chosen: list[Part] = []
    for start, end in parts:
        if all(end <= other[0] or other[1] <= start for other in chosen):
            chosen.append((start, end))
    return sorted(chosen)


def counting(text: str, files: Sequence[str]) -> Iterator[Part]:
    words = [match.span() for match in WORD.finditer(text)]
    places = [at for at in range(len(text) + 1) if not LETTERS.fullmatch(text[max(0, at - 1) : at + 1])]
    for start in places:
        for end in places:
            part = text[start:end]
            if not part or part != part.strip() or not any(part in file for file in files):
                continue
            inside = sum(start <= word[0] and word[1] <= end for word in words)
            solid = len("".join(part.split()))
            if (inside >= WORDS and re.search(r"\w", part)) or (
                solid >= CHARACTERS and is_whole_lines(text, start, end)
            ):
                yield start, end


def is_whole_lines(text: str, start: int, end: int) -> bool:
    before = re.split(r"[\r\n]", text[:start])[-1]
    after = re.split(r"[\r\n]", text[end:])[0]
    return not before.strip() and not after.strip()


def check(text: str, files: Sequence[Attachment], spans: Sequence[Span]) -> None:
    """Every span is verbatim at its file and lines, and 8 words outside of spans are in no file."""
    by_path = {file.path: file for file in files}
    reached = 0
    for span in spans:
        part, file = text[span.start : span.end], by_path[span.path]
        assert reached <= span.start < span.end
        assert part == part.strip()
        assert file.sha256 == span.sha256
        lines = re.findall(r"[^\r\n]*(?:\r\n|\r|\n|\Z)", file.text)
        assert part in "".join(lines[span.first_line - 1 : span.last_line])
        assert len(re.findall(r"\r\n|\r|\n", part)) == span.last_line - span.first_line
        reached = span.end
    edges = [0, *(edge for span in spans for edge in (span.start, span.end)), len(text)]
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        words = [match.span() for match in re.finditer(r"\S+", text[start:end])]
        for first, last in zip(words, words[WORDS - 1 :], strict=False):
            eight = text[start + first[0] : start + last[1]]
            assert not any(eight in file.text for file in files), eight
