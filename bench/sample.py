"""What is measured: a timed run as numbers, with no token of its answer, and the parts of a round."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

_MOST = 1 << 40  # seconds, or tokens: more is a damaged file


@dataclass(frozen=True)
class Counts:
    """What a way tells of a run besides its tokens. A way that cannot tell leaves zeros.

    Attributes:
        rounds, drafted, accepted: of its speculative rounds.
        tested_at, accepted_at: by position in a draft, how often it was reached, and stood.
        k_histogram: rounds by K, plain steps as "0".
        reused: prompt tokens that were in the cache already.
        draft_bytes, kv_bytes: memory of the draft source and of the target's cache.
        finish: why the answer ended.
        state, reason, verdict: of the choice of K at the end, the verdict in words.
    """

    rounds: int = 0
    drafted: int = 0
    accepted: int = 0
    tested_at: list[int] = field(default_factory=list)
    accepted_at: list[int] = field(default_factory=list)
    k_histogram: dict[str, int] = field(default_factory=dict)
    reused: int = 0
    draft_bytes: int = 0
    kv_bytes: int = 0
    finish: str | None = None
    state: str | None = None
    reason: str | None = None
    verdict: str | None = None


@dataclass(frozen=True)
class Sample:
    """A run.

    Attributes:
        block, place: which block, and which run in it; a baseline has the first and the last place.
        way: its name.
        prompt: id of the prompt.
        session: which sitting of the sweep; a resumed one goes on in the next.
        arrivals: seconds from the request to each step that brought tokens.
        emitted: tokens that each of those steps brought.
        digest: of the answer's token ids: equal answers are told without keeping them.
        peak_bytes: most memory that the run had allocated at once.
        counts: what the way told.
    """

    block: int
    place: int
    way: str
    prompt: str
    session: int
    arrivals: list[float]
    emitted: list[int]
    digest: str
    peak_bytes: int = 0
    counts: Counts = field(default_factory=Counts)

    @property
    def ttft_s(self) -> float | None:
        return self.arrivals[0] if self.arrivals else None

    @property
    def tokens(self) -> int:
        """Timed tokens: those after the first step, whose time is that of reading the prompt."""
        return sum(self.emitted[1:])

    @property
    def seconds(self) -> float:
        """What the timed tokens took."""
        return self.arrivals[-1] - self.arrivals[0] if self.arrivals else 0.0

    @property
    def gaps(self) -> list[float]:
        """Seconds between a step's tokens and the next one's: a reader's pauses, bursts counting once."""
        return [later - earlier for earlier, later in zip(self.arrivals, self.arrivals[1:], strict=False)]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Sample:
        """Read what `as_json` wrote; entries of a newer version are left aside.

        Raises:
            KeyError, TypeError, AttributeError: an entry is missing, or not of its kind.
        """
        numbers = [*data["arrivals"], *data["emitted"]]
        whole = [data["block"], data["place"], data["session"], *data["emitted"]]
        if not all(type(n) is int and abs(n) < _MOST for n in whole):
            raise TypeError("a count is no whole number")
        if not all(type(n) in (int, float) and 0 <= n < _MOST for n in numbers):
            raise TypeError("a time is no number of seconds")
        if len(data["arrivals"]) != len(data["emitted"]):
            raise TypeError("steps and their tokens do not go together")
        known = {f.name: data[f.name] for f in fields(cls) if f.name in data}
        told = {f.name: data["counts"][f.name] for f in fields(Counts) if f.name in data["counts"]}
        counts = Counts(**told)
        summed = (counts.rounds, counts.drafted, counts.accepted, counts.reused, counts.draft_bytes)
        listed = (*counts.tested_at, *counts.accepted_at, *counts.k_histogram.values())
        if not all(type(n) is int and 0 <= n < 1 << 60 for n in (*summed, *listed)):
            raise TypeError("a count is no whole number")
        if len(counts.tested_at) != len(counts.accepted_at):
            raise TypeError("positions do not go together")
        return cls(**{**known, "counts": counts})


@dataclass(frozen=True)
class Split:
    """One round.

    Attributes:
        way: whose.
        rows: tokens that the target's forward read, K+1.
        draft_s, verify_s, rest_s: seconds of drafting, of that forward, and of everything else:
            laws, the rule, committing, text.
    """

    way: str
    rows: int
    draft_s: float
    verify_s: float
    rest_s: float

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def digest(tokens: Sequence[int]) -> str:
    """A fingerprint of token ids."""
    return hashlib.sha256(",".join(map(str, tokens)).encode()).hexdigest()[:16]
