"""From token ids to text while it streams: whole characters only, and never a part of a stop string."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

REPLACEMENT = "\ufffd"
# A character has at most four bytes: the first of four tokens in a row that complete nothing is no part
# of one that may still come. The last may be, so one replacement is still held.
LONGEST_INCOMPLETE = 4


class Detokenizer:
    """Decodes token by token. What it returns concatenates to the decoding of the whole.

    Tokens are decoded in a short window that starts at the last whole character, since some
    tokenizers give a token other text at the start of a string.
    """

    def __init__(self, decode: Callable[[Sequence[int]], str]) -> None:
        self._decode = decode
        self._context: list[int] = []  # tokens before the window, already emitted
        self._window: list[int] = []
        self._emitted = 0  # characters of the window already emitted
        self._stalled = 0  # tokens in a row that completed no character

    def push(self, token: int) -> str:
        """The text that `token` completes; empty while a character is incomplete."""
        self._window.append(token)
        text = self._window_text()
        whole = text.rstrip(REPLACEMENT)
        self._stalled = self._stalled + 1 if len(whole) <= self._emitted else 0
        if whole != text:
            return self._emit(whole if self._stalled < LONGEST_INCOMPLETE else text[:-1])
        piece = self._emit(text)
        self._context, self._window, self._emitted, self._stalled = self._window, [], 0, 0
        return piece

    def flush(self) -> str:
        """What is left at the end, without the bytes of an incomplete character."""
        return self._emit(self._window_text().rstrip(REPLACEMENT)) if self._window else ""

    def _window_text(self) -> str:
        before = self._decode(self._context)
        return self._decode([*self._context, *self._window])[len(before) :]

    def _emit(self, text: str) -> str:
        piece = text[self._emitted :]
        self._emitted = max(self._emitted, len(text))
        return piece


class Vocabulary:
    """What each token reads like by itself. Every token is decoded once."""

    def __init__(self, decode: Callable[[Sequence[int]], str]) -> None:
        self._decode = decode
        self._texts: dict[int, str] = {}

    def text(self, token: int) -> str:
        """Its text behind another token: some tokenizers drop the space that opens a text."""
        if token not in self._texts:
            alone = self._decode([token])
            self._texts[token] = self._decode([token, token])[len(alone) :]
        return self._texts[token]


@dataclass
class Released:
    """Tokens and text that may be shown.

    Attributes:
        tokens: token ids wholly released.
        pieces: (origin, text) in order. A token that shares characters with a stop string gives
            its share before the stop as a piece, but is not in `tokens`.
        dropped: committed tokens, from the end, that belong to a stop string and must be rewound.
        stopped: a stop string was found.
    """

    tokens: list[int] = field(default_factory=list)
    origins: list[str] = field(default_factory=list)
    pieces: list[tuple[str, str]] = field(default_factory=list)
    dropped: int = 0
    stopped: bool = False

    @property
    def text(self) -> str:
        return "".join(piece for _, piece in self.pieces)

    def extend(self, later: Released) -> None:
        """Add what `later` released, and take over how it ended."""
        self.tokens += later.tokens
        self.origins += later.origins
        self.pieces += later.pieces
        self.dropped, self.stopped = later.dropped, later.stopped


@dataclass
class _Held:
    token: int
    origin: str
    text: str


class TextStream:
    """Releases committed tokens as soon as their text is final, and finds stop strings."""

    def __init__(self, decode: Callable[[Sequence[int]], str], stops: Sequence[str] = ()) -> None:
        self._detokenizer = Detokenizer(decode)
        self._stops = stops
        self._held: list[_Held] = []

    def push(self, token: int, origin: str) -> Released:
        """Take the next committed token; return what may be shown now."""
        self._held.append(_Held(token, origin, self._detokenizer.push(token)))
        text = "".join(held.text for held in self._held)
        found = [at for stop in self._stops if (at := text.find(stop)) >= 0]
        if found:
            return self._cut(min(found))
        return self._release(len(text) - self._possible_stop(text))

    def flush(self) -> Released:
        """Release all that was held: the answer ended, so it is no part of a stop string."""
        if self._held:
            self._held[-1].text += self._detokenizer.flush()
        released = Released()
        self._move(len(self._held), released)
        return released

    def _possible_stop(self, text: str) -> int:
        """Length of the longest end of `text` that begins some stop string."""
        for length in range(min(len(text), max(map(len, self._stops), default=1) - 1), 0, -1):
            if any(stop.startswith(text[-length:]) for stop in self._stops):
                return length
        return 0

    def _whole_before(self, at: int) -> int:
        """How many held tokens have all their text before character `at`, and all their bytes there too."""
        end, count = 0, 0
        for i, held in enumerate(self._held):
            end += len(held.text)
            if end > at:
                break
            if held.text:  # a token without text is the start of a character that a later one completes
                count = i + 1
        return count

    def _release(self, at: int) -> Released:
        released = Released()
        self._move(self._whole_before(at), released)
        return released

    def _cut(self, at: int) -> Released:
        released = Released(stopped=True)
        self._move(self._whole_before(at), released)
        head = at - len(released.text)
        for held in self._held:
            if head > 0:
                released.pieces.append((held.origin, held.text[:head]))
                head -= len(held.text)
        released.dropped = len(self._held)
        self._held = []
        return released

    def _move(self, count: int, released: Released) -> None:
        for held in self._held[:count]:
            released.tokens.append(held.token)
            released.origins.append(held.origin)
            if held.text:
                released.pieces.append((held.origin, held.text))
        del self._held[:count]


def decoder(tokenizer: Any) -> Callable[[Sequence[int]], str]:
    """The tokenizer's own decoding of ids, special tokens included, with no clean-up of spaces."""

    def decode(ids: Sequence[int]) -> str:
        if not ids:
            return ""
        return tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False)

    return decode


def vocabulary(target: Any) -> int:
    """How many token ids mean something: the model's other rows are padding, the tokenizer's have no row."""
    return min(target.info.vocab_size, max(target.tokenizer.get_vocab().values()) + 1)


def first_difference(target: Any, draft: Any) -> str | None:
    """Where two tokenizers' tables differ, in words, or None if every id means the same in both."""
    ours = {i: token for token, i in target.get_vocab().items()}
    theirs = {i: token for token, i in draft.get_vocab().items()}
    for i in sorted(ours.keys() | theirs.keys()):
        if ours.get(i) != theirs.get(i):
            return f"id {i} is {ours.get(i)!r} in the target and {theirs.get(i)!r} in the draft"
    return None
