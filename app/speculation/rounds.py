"""Rounds of the latest answers, kept to be stepped through, and each of them in words."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from app.display import neutralise
from mlx_spec.events import Round, Token

Fate = Literal["accepted", "rejected", "again", "fell", "past", "token"]
MARKS: dict[Fate, str] = {
    "accepted": "✓",
    "rejected": "✗",
    "again": "↻",
    "fell": "·",
    "past": "⊣",
    "token": "▸",
}
MEANINGS: dict[Fate, str] = {
    "accepted": "accepted",
    "rejected": "rejected",
    "again": "too near to tell, so a plain step decided",
    "fell": "fell with the one before",
    "past": "where the answer ended, or after it",
    "token": "the target's own",
}
LAWS = {
    "warped": "p: the target's probability after temperature and filters; q: the draft's own",
    "softmax": "p: the target's probability at temperature 1; greedy takes the top. q: the draft's own",
}
_PICTURES = str.maketrans({"\n": "⏎", "\t": "⇥"})


@dataclass(frozen=True)
class Entry:
    """A round with drafts, or plain steps in a row.

    Attributes:
        answer: which answer since the chat was opened, from 1.
        message_id: of the answer; one that goes on has it again.
        number: the round's number in its answer, of plain steps the first one's, from 1.
        steps: 1, or how many plain steps.
        before: the end of the answer's text before it.
        text: what it released.
        round: None of plain steps.
    """

    answer: int
    message_id: int | None
    number: int
    steps: int
    before: str
    text: str
    round: Round | None


@dataclass(frozen=True)
class Line:
    """One token of a round, in words.

    Attributes:
        fate: what became of it.
        text: the token, made visible, without quotes.
        p, q: its probabilities; None where there is none or nobody asked.
        preferred: what the target preferred there, if that is another token, and its probability.
    """

    fate: Fate
    text: str
    p: float | None = None
    q: float | None = None
    preferred: tuple[str, float] | None = None

    @property
    def words(self) -> str:
        """All of it, for one line without columns."""
        said = [f"{MARKS[self.fate]} “{self.text}” {MEANINGS[self.fate]}"]
        said += [f"p {shown_p(self.p)}"] if self.p is not None else []
        said += [f"q {shown_p(self.q)}"] if self.q is not None else []
        if self.preferred:
            said.append(f"the target preferred “{self.preferred[0]}”, p {shown_p(self.preferred[1])}")
        return ", ".join(said)


class RoundLog:
    """The latest rounds of a chat. Plain steps in a row are one entry.

    Attributes:
        entries: the oldest first.
        news: counts what was added, so that a screen knows when to draw.
    """

    MOST = 2000  # entries: some 3 MB
    BEFORE = 400  # characters
    LONGEST = 4000  # characters of plain steps in a row

    def __init__(self) -> None:
        self.entries: deque[Entry] = deque(maxlen=self.MOST)
        self.news = 0
        self._answer = 0
        self._message_id: int | None = None
        self._number = 0
        self._text = ""

    def begin(self, message_id: int | None = None) -> None:
        """An answer begins, or goes on."""
        self._answer += 1
        self._message_id = message_id
        self._number = 0
        self._text = ""

    def add(self, news: Round) -> None:
        """Take note of a round of the answer that began last."""
        if not (news.k or news.text or news.tokens):
            return
        self.news += 1
        self._number += 1
        last = self.entries[-1] if self.entries else None
        if not news.k and last and last.answer == self._answer and not last.round:
            text = (last.text + news.text)[-self.LONGEST :]
            self.entries[-1] = replace(last, steps=last.steps + 1, text=text)
        else:
            played = news if news.k else None
            self.entries.append(
                Entry(self._answer, self._message_id, self._number, 1, self._text, news.text, played)
            )
        self._text = (self._text + news.text)[-self.BEFORE :]

    def first(self, message_id: int) -> int | None:
        """Index of the first entry of an answer, or None; the first with drafts if it has one."""
        its = [at for at, entry in enumerate(self.entries) if entry.message_id == message_id]
        return next((at for at in its if self.entries[at].round), its[0] if its else None)

    def length(self, answer: int) -> int:
        """How many rounds an answer has so far, plain steps counted one by one."""
        last = next((entry for entry in reversed(self.entries) if entry.answer == answer), None)
        return last.number + last.steps - 1 if last else 0


def shown_p(p: float | None) -> str:
    """A probability in at most six characters, none of them shown as impossible or sure that is not."""
    if p is None:
        return "-"
    if 0 < p < 0.001:
        return "<0.001"
    return ">0.999" if 0.999 < p < 1 else f"{p:.3f}"


def visible(text: str) -> str:
    """A token's text on one line: control characters as pictures, line ends as marks."""
    return neutralise(text.translate(_PICTURES))


def headline(entry: Entry, length: int | None = None) -> str:
    """What an entry is, in one sentence; with the length of its answer, if that is given."""
    of = "" if length is None else f" of {length}"
    if entry.round is None:
        last = entry.number + entry.steps - 1
        if last == entry.number:
            return f"Answer {entry.answer}, step {last}{of}: plain, nothing was drafted"
        return f"Answer {entry.answer}, steps {entry.number} to {last}{of}: plain, nothing was drafted"
    k, n = entry.round.k, entry.round.accepted
    after = "then the bonus" if n == k else "then a correction"
    if entry.round.finish_reason in ("stop", "stop_string"):
        after = "then the end"
    return f"Answer {entry.answer}, round {entry.number}{of}: {k} drafted, {n} accepted, {after}"


def brief(entry: Entry) -> str:
    """The same in as few characters as will do."""
    place = f"{entry.answer}.{entry.number}:"
    if entry.round is None:
        return f"{place} {entry.steps} plain"
    return f"{place} {entry.round.accepted} of {entry.round.k}"


def token_lines(entry: Entry) -> Iterator[Line]:
    """The tokens of a round with drafts, in their order; none where its details were not taken."""
    if entry.round is None or entry.round.details is None:
        return
    details, accepted = entry.round.details, entry.round.accepted
    for i, each in enumerate(details.drafted):
        fate: Fate = "accepted" if i < accepted else "fell"
        if i == accepted:  # only strict exactness corrects a token into itself
            fate = "again" if each.id == details.token.id else "rejected"
        if i >= entry.round.k:
            fate = "past"
        yield Line(fate, visible(each.text), each.p, each.q, _other(each, each.preferred))
    yield Line(
        "token", visible(details.token.text), details.token.p, None, _other(details.token, details.preferred)
    )


def _other(token: Token, preferred: Token) -> tuple[str, float] | None:
    return None if token.id == preferred.id else (visible(preferred.text), preferred.p)


def law(entry: Entry) -> str:
    """What the probabilities of an entry are of; empty where there are none."""
    if entry.round is None or entry.round.details is None:
        return ""
    return LAWS[entry.round.details.law]


def words(entry: Entry) -> list[str]:
    """An entry as plain lines, for a terminal that is read aloud."""
    lines = [f"{headline(entry)}.", f"Before: “{visible(entry.before[-60:])}”"]
    if entry.round is None:
        return [*lines, f"Text: “{visible(entry.text)}”"]
    return [*lines, *(line.words for line in token_lines(entry)), *filter(None, [law(entry)])]
