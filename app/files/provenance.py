"""Which parts of an answer stand character for character in attached files.

Texts are compared, not tokens or drafts: whoever wrote a part of the answer, it is in the file or not.
docs/provenance.md says what follows from that and what does not.
"""

from __future__ import annotations

import heapq
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise

from app.files.lines import line_starts
from app.files.records import Attachment, Span
from app.files.suffixes import Suffixes
from app.files.words import Words

WORDS = 8
"""From how many words on a part counts."""
CHARACTERS = 24
"""From how many characters that are not white space on whole lines of the answer count."""

_Part = tuple[int, int]
# What may count by its length in characters: eight ideographs, eight words of a letter, whole lines.
_LENGTHS = (WORDS, 2 * WORDS - 1, CHARACTERS, sys.maxsize)


def copied(text: str, attachments: Sequence[Attachment]) -> tuple[Span, ...]:
    """The parts of an answer that are copied from files: in order, apart, without white space at the ends.

    A part counts if it has WORDS words and a letter or digit, or if it is whole lines of the answer with
    CHARACTERS characters. It starts and ends between words of the answer. The longest part comes first, then
    the first of those equally long; what is left of a part beside a longer one counts by the same rules.
    So no part that counts lies outside the spans. Of several places that hold a part, the first is named.

    Args:
        text: of the answer, all of it.
        attachments: in the order of the chat.
    """
    if not attachments:
        return ()
    answer = _Answer(text)
    samples = answer.samples()
    regions = [file.text[start:end] for file in attachments for start, end in _regions(samples, file.text)]
    if not regions:
        return ()
    substrings = Suffixes(text)
    for region in regions:
        substrings.see(region)
    parts = _longest_first(answer, _candidates(answer, substrings.longest()))
    return _located(text, parts, attachments)


class Claims:
    """Tells which spans are true where nobody is believed: neither the spans nor the checksums of files."""

    def __init__(self, attachments: Iterable[Attachment]) -> None:
        self._files = {
            (file.path, file.sha256): (file.text, [*line_starts(file.text), len(file.text)])
            for file in attachments
            if _is_of(file)
        }

    def confirmed(self, text: str, spans: Iterable[Span]) -> tuple[Span, ...]:
        """Those spans of an answer that are parts which count, and stand in the lines that they name."""
        answer = _Answer(text)
        return tuple(
            span
            for span in spans
            if span.end <= len(text)
            and answer.counting(span.start, span.end) == (span.start, span.end)
            and (span.path, span.sha256) in self._files
            and _stands(text[span.start : span.end], span, *self._files[span.path, span.sha256])
        )


def _is_of(file: Attachment) -> bool:
    """Whether the checksum is that of the file's text, as far as its encoding can be written again."""
    try:
        raw = [file.text.encode(file.encoding)]
        if file.encoding in ("UTF-16", "UTF-32"):  # written with this machine's byte order
            raw += [f"\ufeff{file.text}".encode(f"{file.encoding}-{order}") for order in ("LE", "BE")]
    except (LookupError, ValueError):
        return False
    return file.sha256 in (sha256(each).hexdigest() for each in raw)


def _stands(part: str, span: Span, text: str, lines: Sequence[int]) -> bool:
    """Whether a part stands in exactly the lines of a file that its span names."""
    first, last = span.first_line - 1, span.last_line - 1
    if not 0 <= first <= last < len(lines) - 1:
        return False
    at = text.find(part, lines[first], lines[last + 1])
    return lines[first] <= at < lines[first + 1] and lines[last] < at + len(part)


class _Answer:
    """An answer and the rule of what counts in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._words = Words(text)
        self._lines = [*line_starts(text), len(text)]
        self._solid = [0]  # characters before each place that are not white space
        for char in text:
            self._solid.append(self._solid[-1] + (not char.isspace()))

    def samples(self) -> list[_Samples]:
        """What to look for in a file at every few characters, so that no part that counts is missed.

        A part that is in both has a sample in it, and starts and ends less than a step from one. Samples are
        as long as that allows, since short ones are found everywhere; few answers have words short enough
        to need these.
        """
        return [
            samples
            for least, below in pairwise(_LENGTHS)
            if (samples := _Samples.of(self.text, least, self._ranges(least, below))).texts
        ]

    def _ranges(self, least: int, below: int) -> list[_Part]:
        """Where parts that just count have a length from `least` to `below`; with the signs beside them."""
        starts, ends = self._words.starts, self._words.ends
        before, after = [0, *ends], [*starts[WORDS:], len(self.text)]
        found = [
            (before[n], after[n])
            for n, (start, end) in enumerate(zip(starts, ends[WORDS - 1 :], strict=False))
            if least <= end - start < below
        ]
        if least == CHARACTERS <= self._solid[-1]:
            found.append((0, len(self.text)))
        return _merged(sorted(found))

    def whole(self, start: int, end: int) -> _Part:
        """The part within these places that cuts no word and has no white space at its ends."""
        while start < end and (not self._words.cut[start] or self.text[start].isspace()):
            start += 1
        while start < end and (not self._words.cut[end] or self.text[end - 1].isspace()):
            end -= 1
        return start, end

    def counting(self, start: int, end: int) -> _Part | None:
        """What counts of the part within these places, which is in a file."""
        start, end = self.whole(start, end)
        words = bisect_right(self._words.ends, end) - bisect_left(self._words.starts, start)
        if words >= WORDS and self._words.letters[end] > self._words.letters[start]:
            return start, end
        return self._whole_lines(start, end)

    def _whole_lines(self, start: int, end: int) -> _Part | None:
        first = bisect_left(self._lines, start)
        if first and self._is_blank(self._lines[first - 1], start):
            first -= 1
        last = bisect_right(self._lines, end) - 1
        if last + 1 < len(self._lines) and self._is_blank(end, self._lines[last + 1]):
            last += 1
        if first >= last:
            return None
        start, end = self.whole(max(start, self._lines[first]), min(end, self._lines[last]))
        return (start, end) if self._solid[end] - self._solid[start] >= CHARACTERS else None

    def _is_blank(self, start: int, end: int) -> bool:
        return self._solid[start] == self._solid[end]


@dataclass(frozen=True)
class _Samples:
    """Parts of an answer, all of one length, that are looked up at every `step` characters of a file."""

    step: int
    length: int
    texts: set[str]

    @classmethod
    def of(cls, text: str, least: int, ranges: Sequence[_Part]) -> _Samples:
        """Samples of which one at least is in any `least` characters of these ranges of a text."""
        step = least // 3
        length = least - step + 1
        places = (at for start, end in ranges for at in range(start, end - length + 1))
        return cls(step, length, {text[at : at + length] for at in places})


def _regions(samples: Sequence[_Samples], file: str) -> list[_Part]:
    """The parts of a file outside which no part of the answer counts."""
    hits: list[_Part] = []
    for each in samples:
        step, length, texts = each.step, each.length, each.texts
        found = [at for at in range(0, len(file), step) if file[at : at + length] in texts]
        hits += [(max(0, at - step), at + length + step) for at in found]
    return _merged(sorted(hits))


def _merged(parts: Iterable[_Part]) -> list[_Part]:
    """The parts, in order of their starts, with those that touch put together."""
    merged: list[_Part] = []
    for start, end in parts:
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _candidates(answer: _Answer, longest: Sequence[int]) -> Iterator[_Part]:
    """What counts of each part that is in a file and is not within a longer one.

    Args:
        longest: for each place, how long the longest part is that ends there and is in a file.
    """
    for end, length in enumerate(longest):
        goes_on = end + 1 < len(longest) and longest[end + 1] > length
        if length >= WORDS and not goes_on and (part := answer.counting(end - length, end)):
            yield part


def _longest_first(answer: _Answer, candidates: Iterable[_Part]) -> list[_Part]:
    """Parts that do not overlap."""
    chosen: list[_Part] = []
    waiting = [(start - end, start, end) for start, end in candidates]
    heapq.heapify(waiting)
    while waiting:
        _, start, end = heapq.heappop(waiting)
        at = bisect_left(chosen, (start, end))
        after = min(end, chosen[at][0]) if at < len(chosen) else end
        before = max(start, chosen[at - 1][1]) if at else start
        if (before, after) == (start, end):
            chosen.insert(at, (start, end))
        elif before < after and (part := answer.counting(before, after)):
            heapq.heappush(waiting, (part[0] - part[1], *part))
    return chosen


def _located(text: str, parts: Sequence[_Part], attachments: Sequence[Attachment]) -> tuple[Span, ...]:
    starts: dict[str, list[int]] = {}
    spans = []
    for start, end in parts:
        part = text[start:end]
        at, file = next((at, file) for file in attachments if (at := file.text.find(part)) >= 0)
        if file.sha256 not in starts:
            starts[file.sha256] = line_starts(file.text)
        first, last = (bisect_right(starts[file.sha256], place) for place in (at, at + len(part) - 1))
        spans.append(Span(start, end, file.sha256, file.path, first, last))
    return tuple(spans)
