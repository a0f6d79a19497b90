"""Acceptance by position: hazards a_i, survival S_k, and how much of a change they have seen.

The product-limit estimator (Kaplan and Meier, 1958): a round of K drafted tokens of which n stand has
tested positions 1..min(n+1, K), and says nothing of those behind. Pooled acceptance would blame depth
for what the first rejection hides.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


class Hazards:
    """Hazards of one source, with forgetting, shrinkage, and a fast window for text that changes.

    Attributes:
        rates: a_i for i = 1..most, at index i - 1: P(token i stands given that those before it do).
        proposal_rate: how often the source had something to propose, lately.
        next_proposal: how likely it has something next, given whether it had the last time: a lookup
            has proposals in passages.
        changes: how often a change of the text was seen.
    """

    FORGET = 0.985  # weight that a round loses with each later one
    FAST = 0.8  # the same in the fast window
    STRENGTH = 8.0  # rounds that the hazard before is worth to the next
    FIRST, FIRST_STRENGTH = 0.7, 2.5  # a_1 before anything is seen
    PROPOSAL_FORGET = 0.95
    STALE = 0.995  # weight that old tests lose with each token that nobody tested
    HOPE = 1.64  # deviations that hope looks up
    CHANGED = 3.7  # deviations of the fast window from the slow one

    def __init__(self, most: int) -> None:
        """Args:
        most: positions to keep.
        """
        self._tested = [0.0] * most
        self._passed = [0.0] * most
        self._fast_tested = [0.0] * most
        self._fast_passed = [0.0] * most
        self._excess = self._variance = 0.0
        self._asked, self._proposed = 2.0, 2.0
        self._had = True
        # Asked, and proposed, where it had something the last time, and where it had not.
        self._after = {True: [2.0, 2.0], False: [2.0, 1.0]}
        self.changes = 0
        self.rates = [self.FIRST] * most

    def observe(self, drafted: int, accepted: int) -> None:
        """Take note of a round, or of what a round would have been.

        Args:
            drafted: tokens proposed, K; 0 if the source was asked and had nothing.
            accepted: how many of them stand, n.
        """
        forget = self.PROPOSAL_FORGET
        self._asked = forget * self._asked + 1
        self._proposed = forget * self._proposed + (drafted > 0)
        after = self._after[self._had]
        after[:] = [forget * after[0] + 1, forget * after[1] + (drafted > 0)]
        self._had = drafted > 0
        if not drafted:
            return
        reached = min(accepted + 1, drafted)
        self._look_for_change(reached, accepted)
        for counts, factor in (
            (self._tested, self.FORGET),
            (self._passed, self.FORGET),
            (self._fast_tested, self.FAST),
            (self._fast_passed, self.FAST),
        ):
            counts[:] = [count * factor for count in counts]
        for i in range(reached):
            self._tested[i] += 1
            self._fast_tested[i] += 1
        for i in range(accepted):
            self._passed[i] += 1
            self._fast_passed[i] += 1
        if self._excess**2 > self.CHANGED**2 * self._variance:
            self._tested, self._passed = list(self._fast_tested), list(self._fast_passed)
            self._excess = self._variance = 0.0
            self.changes += 1
        self._estimate()

    def _look_for_change(self, reached: int, accepted: int) -> None:
        """Compare what stands with what was expected, over the last few rounds."""
        self._excess *= self.FAST
        self._variance *= self.FAST**2
        for i in range(reached):
            rate = self.rates[i]
            sure = self._tested[i] + self.STRENGTH
            self._excess += (i < accepted) - rate
            self._variance += (rate * (1 - rate) + 0.02) * (1 + 4 / sure)

    def _estimate(self) -> None:
        before, strength = self.FIRST, self.FIRST_STRENGTH
        for i, (tested, passed) in enumerate(zip(self._tested, self._passed, strict=True)):
            before = self.rates[i] = (passed + strength * before) / (tested + strength)
            strength = self.STRENGTH

    @property
    def proposal_rate(self) -> float:
        return self._proposed / self._asked

    @property
    def next_proposal(self) -> float:
        asked, proposed = self._after[self._had]
        return proposed / asked

    def bounds(self, i: int, z: float = 1.96) -> tuple[float, float]:
        """An interval for a_i by Wilson's formula, over the tests that are not forgotten.

        Args:
            i: position, from 1.
            z: its half width in standard deviations.
        """
        strength = self.STRENGTH if i > 1 else self.FIRST_STRENGTH
        return _wilson(self.rates[i - 1], self._tested[i - 1] + strength, z)

    def hopeful(self, idle: int) -> list[float]:
        """Hazards if the first is at the upper end of what is possible, and the others follow it.

        Args:
            idle: tokens written since anything was tested; the text may have changed meanwhile.
        """
        stale = self.STALE**idle
        n = stale * (self._tested[0] + self.FIRST_STRENGTH)
        before = _wilson(self.rates[0], n, self.HOPE)[1]
        rates = [before]
        for tested, passed in zip(self._tested[1:], self._passed[1:], strict=True):
            before = (stale * passed + self.STRENGTH * before) / (stale * tested + self.STRENGTH)
            rates.append(before)
        return rates

    def survival(self, k: int) -> float:
        """S_k = a_1 ... a_k."""
        return math.prod(self.rates[:k])

    def tested(self, i: int) -> float:
        """How often position i, from 1, was reached, less what is forgotten."""
        return self._tested[i - 1]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "tested": list(self._tested),
            "passed": list(self._passed),
            "proposals": [self._proposed, self._asked],
        }

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any], most: int) -> Hazards:
        """From `as_dict`, cut or filled up to `most` positions."""
        hazards = cls(most)
        for mine, theirs in ((hazards._tested, kept["tested"]), (hazards._passed, kept["passed"])):
            for i, count in enumerate(theirs[:most]):
                mine[i] = float(count)
        hazards._proposed, hazards._asked = map(float, kept["proposals"])
        hazards._estimate()
        return hazards


def _wilson(rate: float, n: float, z: float) -> tuple[float, float]:
    """Wilson's interval for a rate seen in n tests, z standard deviations to each side."""
    middle = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def emitted(rates: list[float]) -> list[float]:
    """Expected tokens of a round, 1 + S_1 + ... + S_K, by K = 0..len(rates)."""
    tokens, survival, expected = 1.0, 1.0, [1.0]
    for rate in rates:
        survival *= rate
        tokens += survival
        expected.append(tokens)
    return expected
