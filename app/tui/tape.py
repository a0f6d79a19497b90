"""The rounds of an answer, kept small: a chat of many messages keeps them all."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator

from mlx_spec.events import Round


class Tape:
    """What rounds released, in a few bytes a token.

    Attributes:
        text: all of it.
    """

    def __init__(self, text: str = "", pieces: Iterable[tuple[str, str]] = ()) -> None:
        """Args:
        text: of an answer that is there already.
        pieces: (origin, text) of it, if they are known; each stands for a round.
        """
        self.text = ""
        self._names: list[str] = []  # of origins
        self._origins = array("B")  # of pieces
        self._lengths = array("I")
        self._pieces = array("H")  # of rounds
        self._tokens = array("H")
        for piece in pieces:
            self.add([Round([0], [piece[0]], [piece])])
        if text and not self._lengths:
            self.text = text

    def add(self, rounds: list[Round]) -> None:
        """Go on with more rounds."""
        for event in rounds:
            for origin, text in event.pieces:
                if origin not in self._names:
                    self._names.append(origin)
                self._origins.append(self._names.index(origin))
                self._lengths.append(len(text))
            self._pieces.append(len(event.pieces))
            self._tokens.append(len(event.tokens))
        self.text += "".join(event.text for event in rounds)

    @property
    def told(self) -> bool:
        """The origins are known."""
        return bool(self._lengths) or not self.text

    @property
    def pieces(self) -> list[tuple[str, str]]:
        """(origin, text) in order."""
        made, at = [], 0
        for origin, length in zip(self._origins, self._lengths, strict=True):
            made.append((self._names[origin], self.text[at : at + length]))
            at += length
        return made

    def play(self) -> Iterator[Round]:
        """The rounds again, with token ids of 0."""
        if not self.told:
            yield Round([], [], [("plain", self.text)])
            return
        pieces, at = self.pieces, 0
        for count, tokens in zip(self._pieces, self._tokens, strict=True):
            yield Round([0] * tokens, [], pieces[at : at + count])
            at += count
