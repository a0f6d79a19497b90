"""The words of a text, and where it may be cut without cutting one."""

from __future__ import annotations

import unicodedata
from enum import Enum, auto

# Han, kana, bopomofo and what stands among them: written without spaces.
_UNSPACED = (
    (0x3005, 0x3007),
    (0x3040, 0x312F),
    (0x31A0, 0x31BF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0xFF66, 0xFF9F),
    (0x1AFF0, 0x1B16F),
    (0x20000, 0x3FFFF),
)
_JOINER = "\u200d"


class _Kind(Enum):
    SPACE = auto()
    LETTER = auto()  # of a word that goes on: letters, digits, _
    IDEOGRAPH = auto()  # a word by itself
    SIGN = auto()
    MARK = auto()  # part of the character before it: accents, joiners, skin tones


class Words:
    """Where words start and end in a text.

    A word is a run of letters, digits and _; or one ideograph or kana; or a run of other signs that
    stands alone between white space, as `=` does in `a = b`. So Korean is counted by its spaces, and a
    text has at least as many words as it has parts between white space.

    Attributes:
        starts, ends: of each word, in characters.
        cut: for each place from 0 to the length, whether a word or character ends or starts there.
        letters: for each place, how many letters, digits and ideographs are before it.
    """

    def __init__(self, text: str) -> None:
        kinds = {char: _kind(char) for char in set(text)}
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.cut = [True] * (len(text) + 1)
        self.letters = [0]
        last, begun = _Kind.SPACE, 0  # what is before `at`, and where that run began
        for at, char in enumerate(text):
            kind = kinds[char]
            joined = _Kind.SPACE not in (last, kind) and (kind is _Kind.MARK or text[at - 1] == _JOINER)
            if joined:
                kind = last
            elif kind is _Kind.MARK:
                kind = _Kind.SIGN
            if not joined and (kind is not last or kind is _Kind.IDEOGRAPH):
                self._end(text, last, begun, at)
                begun = at
            self.cut[at] = not joined and not (kind is last is _Kind.LETTER)
            self.letters.append(self.letters[-1] + (kind in (_Kind.LETTER, _Kind.IDEOGRAPH)))
            last = kind
        self._end(text, last, begun, len(text))

    def _end(self, text: str, kind: _Kind, start: int, end: int) -> None:
        alone = (start == 0 or text[start - 1].isspace()) and (end == len(text) or text[end].isspace())
        if kind in (_Kind.LETTER, _Kind.IDEOGRAPH) or (kind is _Kind.SIGN and alone):
            self.starts.append(start)
            self.ends.append(end)


def _kind(char: str) -> _Kind:
    if char.isspace():
        return _Kind.SPACE
    category = unicodedata.category(char)
    if category[0] == "M" or category == "Cf" or "\U0001f3fb" <= char <= "\U0001f3ff":
        return _Kind.MARK
    if any(first <= ord(char) <= last for first, last in _UNSPACED):
        return _Kind.IDEOGRAPH
    return _Kind.LETTER if category[0] in "LN" or char == "_" else _Kind.SIGN
