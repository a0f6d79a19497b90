"""Dice that play every outcome in turn, each with its exact probability."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T", bound=Hashable)
Law = dict[T, Fraction]


class EnumeratingDice:
    """One play: the choices up to here are given, the ones after them take their first outcome.

    Whatever is drawn from must be a law in exact numbers: a float, a negative probability or a row
    that does not sum to 1 is an error and not something to be normalised away.

    Attributes:
        weight: the probability of this play.
        trail: for each choice made, which of how many outcomes was taken.
    """

    def __init__(self, given: Sequence[int] = ()) -> None:
        self.weight = Fraction(1)
        self.trail: list[tuple[int, int]] = []
        self._given = given

    def choose(self, options: Sequence[tuple[T, Fraction]]) -> T:
        """Take one of the outcomes that can happen, in the order of the plays."""
        possible = [(outcome, weight) for outcome, weight in options if weight != 0]
        assert all(type(weight) in (Fraction, int) for _, weight in possible), "not in exact numbers"
        assert min(weight for _, weight in possible) > 0, "a negative probability"
        assert sum(weight for _, weight in possible) == 1, "not a law: the probabilities do not sum to 1"
        step = len(self.trail)
        taken = self._given[step] if step < len(self._given) else 0
        self.trail.append((taken, len(possible)))
        outcome, weight = possible[taken]
        self.weight *= weight
        return outcome

    def flip(self, probabilities: Any) -> Any:
        """(K,) probabilities to (K,) booleans."""
        flips = [self.choose([(True, p), (False, 1 - p)]) for p in probabilities.tolist()]
        return np.array(flips, dtype=bool)

    def draw(self, rows: Any) -> Any:
        """(M, V) laws to (M,) token ids."""
        return np.array([self.choose(list(enumerate(row))) for row in rows.tolist()], dtype=np.uint32)


def law_of(play: Callable[[Any], T], dice: type[EnumeratingDice] = EnumeratingDice) -> Law[T]:
    """The exact law of what `play` returns, by playing it once for every sequence of outcomes."""
    law: defaultdict[T, Fraction] = defaultdict(Fraction)
    given: list[int] | None = []
    while given is not None:
        one = dice(given)
        outcome = play(one)
        law[outcome] += one.weight
        given = _next(one.trail)
    return dict(law)


def _next(trail: list[tuple[int, int]]) -> list[int] | None:
    """The choices of the next play, depth first, or None after the last."""
    while trail:
        taken, outcomes = trail.pop()
        if taken + 1 < outcomes:
            return [*(t for t, _ in trail), taken + 1]
    return None
