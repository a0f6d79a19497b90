"""What a model thinks before it answers, told apart from the answer while both stream."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from mlx_spec.events import Round

Piece = tuple[str, str]
"""An origin and its text."""


@dataclass(frozen=True)
class Markers:
    """The texts around a model's thinking.

    Attributes:
        start, end: of the thinking.
        opener: the end of the prompt from `start` on, if the template has opened the thinking
            already; else empty. It belongs to what the model said, but nobody emits it.
    """

    start: str = "<think>"
    end: str = "</think>"
    opener: str = ""

    def after(self, prompt: str) -> Markers:
        """The same markers for an answer to `prompt`, of which the end is enough."""
        opened = prompt.rstrip().endswith(self.start)
        return Markers(self.start, self.end, prompt[prompt.rindex(self.start) :] if opened else "")


@dataclass
class Split:
    """Some text of an answer by what it is.

    Attributes:
        thought, said: (origin, text) in order, without the markers and the line ends next to them.
    """

    thought: list[Piece] = field(default_factory=list)
    said: list[Piece] = field(default_factory=list)

    @property
    def text(self) -> str:
        """What was said."""
        return "".join(text for _, text in self.said)

    @property
    def thought_text(self) -> str:
        """What was thought."""
        return "".join(text for _, text in self.thought)


class _Stage(Enum):
    BEFORE = auto()
    THINKING = auto()
    ANSWERING = auto()


class Thinking:
    """Splits one answer. A marker may come in any number of pieces and rounds.

    Thinking starts at the start of an answer or nowhere: an answer may speak of the marker.
    """

    def __init__(self, markers: Markers = Markers()) -> None:
        self._markers = markers
        self._stage = _Stage.THINKING if markers.opener else _Stage.BEFORE
        self._held: list[Piece] = []
        self._at_edge = True  # next to a marker, where line ends are layout
        self._taken = 0
        self._spent = 0

    @property
    def unfinished(self) -> bool:
        """The model is thinking, or was when its answer ended."""
        return self._stage is _Stage.THINKING

    @property
    def tokens(self) -> int:
        """Tokens that went into thinking so far, with its markers."""
        return self._taken if self.unfinished else self._spent

    def take(self, news: Round) -> Split:
        """What is certain after this round; of the last round, all that is left."""
        self._taken += len(news.tokens)
        self._held += news.pieces
        split = Split()
        while self._advance(split):
            pass
        if news.finish_reason is not None:
            self._release(len(self._text), split.thought if self.unfinished else split.said)
        return split

    def _advance(self, split: Split) -> bool:
        """Release what may be; true if a marker was passed, so that there may be more."""
        text, start, end = self._text, self._markers.start, self._markers.end
        if self._stage is _Stage.BEFORE:
            bare = text.lstrip()
            if bare.startswith(start):
                self._cut(len(text) - len(bare) + len(start))
                self._stage = _Stage.THINKING
                return True
            if start.startswith(bare):
                return False
            self._stage, self._at_edge = _Stage.ANSWERING, False
        if self._stage is _Stage.ANSWERING:
            self._release(len(text), split.said)
            return False
        if (at := text.find(end)) < 0:
            self._release(len(text) - _overlap(text, end), split.thought)
            return False
        self._release(at, split.thought)
        self._cut(len(end))
        self._stage, self._at_edge = _Stage.ANSWERING, True
        self._spent = self._taken - len(self._held)
        return True

    @property
    def _text(self) -> str:
        return "".join(text for _, text in self._held)

    def _release(self, count: int, into: list[Piece]) -> None:
        for origin, text in self._cut(count):
            shown = text.lstrip("\n") if self._at_edge else text
            if shown:
                self._at_edge = False
                into.append((origin, shown))

    def _cut(self, count: int) -> list[Piece]:
        """Take the first `count` characters of what is held."""
        taken: list[Piece] = []
        while self._held and count > 0:
            origin, text = self._held.pop(0)
            taken.append((origin, text[:count]))
            if len(text) > count:
                self._held.insert(0, (origin, text[count:]))
            count -= len(text)
        return taken


def split(text: str, markers: Markers = Markers()) -> Split:
    """A whole answer, as the model wrote it."""
    whole = Round(pieces=[("", text)], finish_reason="stop")
    return Thinking(Markers(markers.start, markers.end)).take(whole)


def _overlap(text: str, marker: str) -> int:
    """Length of the longest end of `text` that begins `marker`."""
    longest = min(len(text), len(marker) - 1)
    return next((n for n in range(longest, 0, -1) if marker.startswith(text[-n:])), 0)


def spoken(text: str, thought: str) -> dict[str, Any]:
    """What an answer says, as every JSON of specchat has it."""
    return {"text": text, "thinking": thought or None}
