"""One answer in the transcript, from its first token to its last, however long it grows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from rich.text import Text

from app.chats.records import ChatMessage, MessageState, Span
from app.desk.clipboard import code_blocks
from app.display import neutralise
from app.speculation.origins import kind, tally
from app.thinking import Markers, Piece, Thinking
from app.tui.text.copied import NUMBER, Mark, numbered, sources
from app.tui.text.reading import Reading
from app.tui.text.rows import BLANK, Row, wrap
from app.tui.transcript.entry import NOTE, Entry, action, decoration, height_of
from app.tui.transcript.origins import Origins
from app.tui.transcript.tape import Tape
from mlx_spec.events import Round

ENDINGS: dict[MessageState, str] = {
    "streaming": "◌ another specchat is writing this",
    "stopped": "■ stopped",
    "cut": "■ cut at the length limit",
    "interrupted": "■ interrupted: specchat ended while this was written",
    "failed": "■ ended by an error",
}
UNKNOWN_ORIGINS = "the origins of these tokens were not kept"


class Answer(Entry):
    """Its rounds are kept, and what is drawn of them is made anew when somebody looks again.

    Attributes:
        prompt: tokens of its prompt, and how many of them need not be read; None before that is known.
    """

    def __init__(self, *, show_origins: bool = False, show_thought: bool = False) -> None:
        super().__init__()
        self.prompt: tuple[int, int] | None = None
        self._show_origins = show_origins
        self._show_thought = show_thought
        self._markers = Markers()
        self._tape = Tape()
        self._ended = False
        self._note = ""
        self._spans: Sequence[Span] = ()
        self._page: _Page | None = None

    @classmethod
    def kept(cls, message: ChatMessage, markers: Markers, *, show_origins: bool) -> Answer:
        """One out of a chat that was kept."""
        answer = cls(show_origins=show_origins)
        answer.message_id = message.id
        answer._markers = Markers(markers.start, markers.end)
        answer._tape = Tape(message.text, message.pieces)
        answer._spans = message.spans
        answer.finish(ENDINGS.get(message.state, ""))
        return answer

    @property
    def text(self) -> str:
        """What the model said, as it said it; what the prompt had opened is part of it."""
        return self._markers.opener + self._tape.text if self._tape.text else ""

    @property
    def said(self) -> str:
        """Its text without the thinking."""
        return self.text[self._said_from :]

    @property
    def pieces(self) -> tuple[tuple[str, str], ...]:
        """(origin, text) in order, without what the prompt had opened."""
        return tuple(self._tape.pieces)

    def code_blocks(self) -> list[str]:
        """The code of each fence, in order."""
        return code_blocks(self.said)

    def expect(self, markers: Markers) -> None:
        """The answer begins; its thinking stands between `markers`."""
        self._markers = markers
        self._page = None

    def add(self, rounds: list[Round]) -> None:
        """Add what the engine released since the last call."""
        page = self._drawn()
        self._tape.add(rounds)
        page.add(rounds)
        self.changed()

    def note(self, text: str) -> None:
        """Say something below the answer; nothing if empty."""
        self._note = text
        self.changed()

    def finish(self, note: str = "") -> None:
        """The answer is complete; `note` says why if it is not the model that ended it."""
        self._ended = True
        if self._page is not None:
            self._page.finish()
        self.note(note)

    def go_on(self) -> None:
        """The model takes up again what it had ended."""
        self._ended = False
        self._page = None
        self.note("")

    def show_spans(self, spans: Sequence[Span]) -> None:
        """Mark what was copied from files, and list the files below."""
        self._spans = spans
        if self._page is not None:
            self._page.said.mark(self._marks())
        self.changed()

    @property
    def show_origins(self) -> bool:
        """Show each token's origin in place of Markdown."""
        return self._show_origins

    @show_origins.setter
    def show_origins(self, shown: bool) -> None:
        self._show_origins = shown
        self.changed()

    @property
    def show_thought(self) -> bool:
        """Unfold the thinking."""
        return self._show_thought

    @show_thought.setter
    def show_thought(self, shown: bool) -> None:
        self._show_thought = shown
        self.changed()

    @property
    def at_hand(self) -> bool:
        """Laying it out costs little: it grows, or it is near the view."""
        return self._page is not None

    def forget(self) -> None:
        """Nobody needs its rows for now."""
        super().forget()
        if self._ended:
            self._page = None

    def estimate(self, width: int) -> int:
        """Rows, by the length of what was said."""
        return 1 + height_of(self.said, width)

    def rows(self, width: int) -> list[Row]:
        """The answer, or its tokens by origin, and what there is to say below."""
        page = self._drawn()
        if self._show_origins:
            rows = page.origins(self._tape).rows(width)
        else:
            rows = [*self._read(page, width), *self._sources(width)]
        notes = [self._note]
        if self._show_origins and self.text:
            notes.append(self._tally() if self._tape.told else UNKNOWN_ORIGINS)
        for note in filter(None, notes):
            rows = [*rows, *([BLANK] if rows else []), *wrap(Text.assemble((note, NOTE)), width)]
        return rows

    def _drawn(self) -> _Page:
        if self._page is None:
            self._page = _Page(self._markers)
            self._page.add(self._tape.play())
            self._page.said.mark(self._marks())
            if self._ended:
                self._page.finish()
        return self._page

    def _marks(self) -> list[Mark]:
        """The spans on what was said, as it is shown."""
        text, start = self.text, self._said_from
        said = text[start:]

        def shown(at: int) -> int:
            return len(neutralise(said[: max(at - start, 0)]))

        return [Mark(shown(s.start), shown(s.end), number) for number, s in numbered(self._spans)]

    def _sources(self, width: int) -> list[Row]:
        """What the numbers in the text stand for."""
        rows = [BLANK] if self._spans else []
        for sign, words in sources(self._spans):
            text = Text.assemble((sign, NUMBER), (f" {words}", NOTE))
            rows += [replace(row, end=0, joint="") for row in wrap(text, width)]
        return rows

    def _tally(self) -> str:
        counts: Counter[str] = Counter()
        for origin, count in self._tape.counts.items():
            counts[kind(origin)] += count
        return tally(counts, self.prompt)

    def _read(self, page: _Page, width: int) -> list[Row]:
        """The answer below its thinking, of which one row shows where it is folded."""
        said = page.said.rows(width)
        if not page.thinking.tokens:
            return said
        tokens = f"{page.thinking.tokens:,} token{'s' if page.thinking.tokens > 1 else ''}"
        if not page.thinking.unfinished:
            what = f"thought for {tokens}"
        elif self._ended:
            what = f"thought for {tokens}, and had not finished"
        else:
            what = f"thinking, {tokens} so far"
        head = f"▾ {what} · F5 folds" if self._show_thought else f"▸ {what} · F5 unfolds"
        rows = [decoration((head, NOTE + action("thought")))]
        if self._show_thought:
            rows += [*page.thought.rows(width), decoration(("▴ end of the thinking", NOTE))]
        return [*rows, decoration(), *said] if said else rows

    @property
    def _said_from(self) -> int:
        """Where in the text the thinking is over."""
        text, start, end = self.text, self._markers.start, self._markers.end
        if not text.lstrip().startswith(start):
            return 0
        over = text.find(end)
        if over < 0:
            return len(text)
        rest = text[over + len(end) :]
        return len(text) - len(rest.lstrip("\n"))


class _Page:
    """What is drawn of an answer: it grows with it."""

    def __init__(self, markers: Markers) -> None:
        self.thinking = Thinking(markers)
        self.thought = Reading()
        self.said = Reading()
        self._origins: Origins | None = None  # until somebody looks at them

    def add(self, rounds: Iterable[Round]) -> None:
        for event in rounds:
            split = self.thinking.take(event)
            self.thought.feed(neutralise(split.thought_text))
            self.said.feed(neutralise(split.text))
            if self._origins is not None:
                self._origins.feed(_harmless(event.pieces))

    def finish(self) -> None:
        self.add([Round(finish_reason="stop")])
        self.thought.finish()
        self.said.finish()

    def origins(self, tape: Tape) -> Origins:
        if self._origins is None:
            self._origins = Origins()
            self._origins.feed(_harmless(tape.pieces))
        return self._origins


def _harmless(pieces: Iterable[Piece]) -> Iterator[Piece]:
    return ((origin, neutralise(text)) for origin, text in pieces)
