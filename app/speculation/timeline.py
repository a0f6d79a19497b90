"""K and speedup over a session, in constant memory: neighbours are merged as it grows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.thread.events import Snapshot
from mlx_spec.events import Round


@dataclass(frozen=True)
class Span:
    """Rounds in a row.

    Attributes:
        rounds: how many, plain steps included.
        parked: plain steps while speculation was parked or off.
        drafted: rounds with drafts; `k` is the sum of their drafts, `accepted` of those that stand.
        most: the largest K.
        answers: how many answers begin in it.
        source: the latest round's; `switched` if another source took over within.
        speedup: as it was measured up to the latest round: value, low, high; None while it is unknown.
    """

    rounds: int = 0
    parked: int = 0
    drafted: int = 0
    k: int = 0
    accepted: int = 0
    most: int = 0
    answers: int = 0
    source: str | None = None
    switched: bool = False
    speedup: tuple[float, float, float] | None = None

    @property
    def mean_k(self) -> float:
        """K over all its rounds, plain steps as 0."""
        return self.k / self.rounds if self.rounds else 0.0

    def then(self, later: Span) -> Span:
        """Both as one."""
        changes = self.source is not None and later.source is not None and self.source != later.source
        return Span(
            self.rounds + later.rounds,
            self.parked + later.parked,
            self.drafted + later.drafted,
            self.k + later.k,
            self.accepted + later.accepted,
            max(self.most, later.most),
            self.answers + later.answers,
            later.source or self.source,
            self.switched or later.switched or changes,
            later.speedup or self.speedup,
        )


class Timeline:
    """Takes every round of a session.

    Attributes:
        total: all of it as one span.
    """

    MOST = 2048  # spans kept; beyond, each two become one

    def __init__(self) -> None:
        self.total = Span()
        self._spans: list[Span] = []
        self._size = 1  # rounds a span
        self._begins = 0

    @property
    def rounds(self) -> int:
        """All rounds, plain steps included."""
        return self.total.rounds

    def begin(self) -> None:
        """An answer begins with the next round."""
        self._begins += 1

    def add(self, news: Round, snapshot: Snapshot) -> None:
        """Take note of a round, and of what was known after it."""
        found = snapshot.verdict.facts.get("speedup") if snapshot.verdict else None
        source = snapshot.source
        span = Span(
            rounds=1,
            parked=int(not news.k and snapshot.state in ("parked", "off")),
            drafted=int(news.k > 0),
            k=news.k,
            accepted=news.accepted,
            most=news.k,
            answers=self._begins,
            source=source,
            switched=None not in (source, self.total.source) and source != self.total.source,
            speedup=(found["value"], found["low"], found["high"]) if found else None,
        )
        self._begins = 0
        self.total = self.total.then(span)
        if self._spans and self._spans[-1].rounds < self._size:
            self._spans[-1] = self._spans[-1].then(span)
            return
        if len(self._spans) == self.MOST:
            pairs = zip(self._spans[::2], self._spans[1::2], strict=True)
            self._spans = [first.then(second) for first, second in pairs]
            self._size *= 2
        self._spans.append(span)

    def columns(self, width: int, latest: int | None = None) -> list[Span]:
        """The session in at most `width` spans of equal length, but for the last.

        Args:
            width: at least 1.
            latest: only about so many rounds from the end.
        """
        spans = self._spans if latest is None else self._spans[-max(1, latest // self._size) :]
        each = -(-len(spans) // max(width, 1)) or 1
        return [_joined(spans[start : start + each]) for start in range(0, len(spans), each)]


def _joined(spans: Sequence[Span]) -> Span:
    span = spans[0]
    for later in spans[1:]:
        span = span.then(later)
    return span


def words(timeline: Timeline) -> Iterator[str]:
    """The session in sentences, for a terminal that is read aloud."""
    total = timeline.total
    if not total.rounds:
        yield "Nothing was generated in this chat yet."
        return
    yield (
        f"{_count(total.rounds, 'round')} in {_count(total.answers, 'answer')}: {total.drafted:,} with "
        f"drafts, {total.rounds - total.drafted:,} plain, of which {total.parked:,} were parked or off."
    )
    if total.drafted:
        rate = (
            f"{total.accepted:,} of {total.k:,} drafted tokens were accepted ({total.accepted / total.k:.0%})"
        )
        yield f"K was {total.k / total.drafted:.1f} on average with drafts, {total.most} at most; {rate}."
    parts = timeline.columns(8)
    yield f"K over the session, in {len(parts)} parts: {', '.join(f'{part.mean_k:.1f}' for part in parts)}."
    speedups = [f"{part.speedup[0]:.2f}x" if part.speedup else "-" for part in parts]
    yield f"Speedup at the end of each: {', '.join(speedups)}."
    if total.speedup:
        value, low, high = total.speedup
        yield f"The latest is {value:.2f}x plain decoding, with 95% confidence {low:.2f} to {high:.2f}."
    if total.switched:
        yield f"The draft source changed; now it is {total.source}."


def _count(n: int, thing: str) -> str:
    return f"{n:,} {thing}{'' if n == 1 else 's'}"
