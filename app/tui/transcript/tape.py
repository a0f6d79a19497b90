"""The rounds of an answer, kept small: a chat of many messages keeps them all."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from app.thinking import Piece
from mlx_spec.events import Round


class Tape:
    """What rounds released, in a few bytes a token.

    Attributes:
        text: all of it.
    """

    def __init__(self, text: str = "", pieces: Sequence[Piece] = ()) -> None:
        """Args:
        text: of an answer that is there already.
        pieces: (origin, text) of it, if they are known; each stands for a round of one token.
        """
        self.text = text
        self._before = pieces
        self._names: list[str] = []  # of origins
        self._origins = array("B")  # of pieces
        self._lengths = array("I")
        self._pieces = array("H")  # of rounds
        self._tokens = array("H")
        self._counts: Counter[str] = Counter()
        self._start = len(text)  # of what the arrays speak of

    def add(self, rounds: Iterable[Round]) -> None:
        """Go on with more rounds."""
        for event in rounds:
            for origin, text in event.pieces:
                if origin not in self._names:
                    self._names.append(origin)
                self._origins.append(self._names.index(origin))
                self._lengths.append(len(text))
            self._pieces.append(len(event.pieces))
            self._tokens.append(len(event.tokens))
            self._counts.update(event.origins)
            self.text += event.text

    @property
    def told(self) -> bool:
        """The origins are known."""
        return bool(self._before) or not self._start

    @property
    def counts(self) -> Counter[str]:
        """Tokens by origin."""
        return self._counts + Counter(origin for origin, _ in self._before)

    @property
    def pieces(self) -> list[Piece]:
        """(origin, text) in order."""
        made, at = list(self._before), self._start
        for origin, length in zip(self._origins, self._lengths, strict=True):
            made.append((self._names[origin], self.text[at : at + length]))
            at += length
        return made

    def play(self) -> Iterator[Round]:
        """The rounds again, with token ids of 0."""
        if not self.told:
            yield Round([], [], [("plain", self.text[: self._start])])
        for piece in self._before:
            yield Round([0], [], [piece])
        pieces, at = self.pieces, len(self._before)
        for count, tokens in zip(self._pieces, self._tokens, strict=True):
            yield Round([0] * tokens, [], pieces[at : at + count])
            at += count
