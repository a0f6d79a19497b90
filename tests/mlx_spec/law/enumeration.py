"""Dice that play every outcome in turn, each with its exact probability."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
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
        # What is known so far of each position's uniform number: the interval that holds it.
        self._known: dict[Any, tuple[Fraction, Fraction]] = {}

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

    def draw_at(self, rows: Any, position: int) -> Any:
        """(M, V) laws to (M,) token ids by the noise of `position + i`, remembered for the whole play."""
        drawn = [self.draw_with(position + i, tuple(row)) for i, row in enumerate(rows.tolist())]
        return np.array(drawn, dtype=np.uint32)

    def draw_with(self, key: Any, law: tuple[Fraction, ...]) -> int:
        """A token by the uniform number called `key`: the one in whose share of [0, 1) it lies.

        The number is never wholly known: each law that is drawn with it narrows it down no further
        than to the share of a token, so that every play still has an exact probability.
        """
        assert sum(law) == 1, "not a law: the probabilities do not sum to 1"
        low, high = self._known.get(key, (Fraction(0), Fraction(1)))
        shares = []
        for token, (start, end) in enumerate(pairwise(accumulate(law, initial=Fraction(0)))):
            start, end = max(start, low), min(end, high)
            shares.append(((token, start, end), max(end - start, Fraction(0)) / (high - low)))
        token, *interval = self.choose(shares)
        self._known[key] = (interval[0], interval[1])
        return token


class UnrelatedDice(EnumeratingDice):
    """The noise of a position gives the same law the same token, and two laws nothing in common.

    The least that position-keyed noise promises; whatever is proven with it leans on nothing else.
    """

    def __init__(self, given: Sequence[int] = ()) -> None:
        super().__init__(given)
        self._drawn: dict[Any, int] = {}

    def draw_with(self, key: Any, law: tuple[Fraction, ...]) -> int:
        if (key, law) not in self._drawn:
            self._drawn[key, law] = self.choose(list(enumerate(law)))
        return self._drawn[key, law]


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
