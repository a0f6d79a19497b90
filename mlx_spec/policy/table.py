"""What a probe measured: seconds of rounds and plain steps at one depth, nothing fitted to a line."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

CLIFF = 1.3  # V(M)/V(M-1) above this is a step that kernels make, not noise


@dataclass(frozen=True)
class CostTable:
    """What a probe measured at one depth. Nothing in it is fitted to a line.

    Attributes:
        depth: committed tokens at which it was measured.
        plain: seconds a token of pipelined plain decoding.
        verify: T(M), seconds of one forward over M rows, by M; has at least M=1.
        draft: seconds to draft K tokens, by K; empty for a source that costs nothing.
        overhead: seconds a round beside those: host work, synchronization, rolling back.
        fresh: measured in this run, so that its seconds count and not its ratios alone.
    """

    depth: int
    plain: float
    verify: Mapping[int, float]
    draft: Mapping[int, float] = field(default_factory=dict)
    overhead: float = 0.0
    fresh: bool = True

    def __post_init__(self) -> None:
        if 1 not in self.verify:
            raise ValueError("a cost table needs the time of one row")
        times = [self.plain, *self.verify.values()]
        if not all(math.isfinite(t) and t > 0 for t in times):
            raise ValueError("every time of a cost table must be a finite number above 0")
        if not all(math.isfinite(t) and t >= 0 for t in (*self.draft.values(), self.overhead)):
            raise ValueError("draft time and overhead of a cost table must be finite and at least 0")

    def rows(self, m: int) -> float:
        """T(M) in seconds; interpolated between measured M, with the last slope beyond them."""
        return _between(self.verify, m)

    def ratio(self, m: int) -> float:
        """V(M) = T(M)/T(1)."""
        return self.rows(m) / self.verify[1]

    def drafting(self, k: int) -> float:
        """Seconds to draft K tokens."""
        return _between({0: 0.0, **self.draft}, k) if self.draft else 0.0

    def round(self, k: int) -> float:
        """Seconds of a round of K drafted tokens."""
        return self.rows(k + 1) + self.drafting(k) + self.overhead

    @property
    def unhidden(self) -> float:
        """Seconds of a round that neither its forward nor its draft needs: its own work, and the wait for
        the device that a pipelined plain step does not have."""
        return self.overhead + max(0.0, self.verify[1] - self.plain)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> CostTable:
        """From `as_dict`, also after a passage through JSON. It is not fresh: the machine has moved on."""
        by_number = {name: {int(n): float(t) for n, t in kept[name].items()} for name in ("verify", "draft")}
        return cls(
            int(kept["depth"]), float(kept["plain"]), **by_number, overhead=kept["overhead"], fresh=False
        )


def _between(known: Mapping[int, float], at: int) -> float:
    """The value at `at`: linear between neighbours, beyond the last with the last slope, never falling."""
    if at in known:
        return known[at]
    below = max((n for n in known if n < at), default=min(known))
    above = min((n for n in known if n > at), default=None)
    if above is None:
        before = max((n for n in known if n < below), default=below)
        slope = max(0.0, (known[below] - known[before]) / (below - before)) if before < below else 0.0
        return known[below] + slope * (at - below)
    return known[below] + (known[above] - known[below]) * (at - below) / (above - below)
