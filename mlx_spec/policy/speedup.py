"""The live speedup: rounds against the plain steps of the same session, with an interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

# Student's t, two-sided 95%, by degrees of freedom; beyond the table, the last one.
T_95 = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13, 2.12)


@dataclass(frozen=True)
class Interval:
    """A measured ratio and its 95% interval."""

    value: float
    low: float
    high: float


class Speedup:
    """Baseline time a token over our time a token, where the source was asked.

    Every round brings its tokens and its time in plain steps of that moment, so that a machine that
    drifts counts for neither side. The interval has two parts: rounds differ (batch means of a ratio, as
    neighbours in a text resemble each other), and plain steps tell the plain time only so well. Batches
    grow with the rounds, so that a wide interval comes early. Old ones fade, since depth and text change.
    """

    LEAST = 4  # batches
    SHORTEST, LONGEST = 2, 8  # rounds a batch
    FADE = 0.97  # a longest batch

    def __init__(self) -> None:
        self._size = self.SHORTEST
        self._tokens = self._cost = 0.0
        self._rounds = 0
        self._batches: list[tuple[float, float]] = []

    def observe(self, emitted: int, cost: float) -> None:
        """Take note of a round.

        Args:
            emitted: its tokens.
            cost: its time in plain steps.
        """
        self._tokens += emitted
        self._cost += cost
        self._rounds += 1
        if self._rounds < self._size:
            return
        self._batches.append((self._tokens, self._cost))
        del self._batches[:-64]
        self._tokens, self._cost, self._rounds = 0.0, 0.0, 0
        if self._size < self.LONGEST and len(self._batches) == 2 * self.LEAST:
            pairs = zip(self._batches[::2], self._batches[1::2], strict=True)
            self._batches = [(t + u, c + d) for (t, c), (u, d) in pairs]
            self._size *= 2

    def interval(self, baseline_variance: float) -> Interval | None:
        """The speedup, or None until enough rounds were seen.

        Args:
            baseline_variance: of the log of a round's cost in plain steps, which plain steps told.
        """
        batches, n = self._batches, len(self._batches)
        if n < self.LEAST:
            return None
        weights = [self.FADE ** ((n - 1 - i) * self._size / self.LONGEST) for i in range(n)]
        tokens = sum(w * t for w, (t, _) in zip(weights, batches, strict=True))
        cost = sum(w * c for w, (_, c) in zip(weights, batches, strict=True))
        value = tokens / cost
        squares = sum((w * (t - value * c)) ** 2 for w, (t, c) in zip(weights, batches, strict=True))
        variance = squares / tokens**2 * n / (n - 1) + baseline_variance
        half = T_95[min(n - 1, len(T_95)) - 1] * math.sqrt(variance)
        return Interval(value, value * math.exp(-half), value * math.exp(half))
