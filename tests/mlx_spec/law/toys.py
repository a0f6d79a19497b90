"""Toy targets and draft sources with rational tables: small enough to enumerate, nasty on purpose.

A prefix is a tuple of token ids, prompt included. A target's row is a tuple of whole weights, the
toy's logits; the toy sampler's warper squares them, a temperature of 1/2 in exact numbers, so that a
rule which takes an unwarped row shows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from mlx_spec.drafts.base import Draft
from mlx_spec.law.noise import Dice
from mlx_spec.law.sampling import Sampler
from mlx_spec.options import Sampling

Prefix = tuple[int, ...]
Weights = tuple[int, ...]
Law = tuple[Fraction, ...]
PROMPT: Prefix = (0, 1)


@cache
def normal(weights: Weights) -> Law:
    """The law with these weights."""
    total = sum(weights)
    return tuple(Fraction(w, total) for w in weights)


def warped(row: Weights) -> Law:
    """What the toy sampler makes of a row: temperature 1/2."""
    return normal(tuple(w * w for w in row))


def array(rows: Any) -> Any:
    """Rows as an (M, V) object array."""
    rows = [list(row) for row in rows]
    out = np.empty((len(rows), len(rows[0])), dtype=object)
    out[:] = rows
    return out


def tokens(ids: Any) -> Any:
    """Token ids as the engine has them."""
    return np.array(list(ids), dtype=np.uint32)


class ToySampler(Sampler):
    """The engine's sampler over numpy and Fractions."""

    xp = np

    def __init__(self, dice: Dice | None = None, *, greedy: bool = False, seed_exact: bool = False) -> None:
        super().__init__(Sampling(temperature=0 if greedy else 1, seed=0, seed_exact=seed_exact))
        if dice is not None:
            self.dice = dice

    def laws(self, logits: Any, committed: Any, drafted: Any = None) -> Any:
        return array(warped(tuple(row)) for row in logits.tolist())

    def scores(self, logits: Any, committed: Any, drafted: Any = None) -> Any:
        return logits

    def choose(self, rows: Any, position: int) -> Any:
        if self.greedy:
            return tokens(row.index(max(row)) for row in rows.tolist())
        return super().choose(rows, position)

    def unsound(self, logits: Any) -> Any:
        return np.array(False)  # fractions are numbers


@dataclass(frozen=True)
class Target:
    """A language model of a few tokens.

    Attributes:
        name: for test ids.
        vocabulary: V.
        row: prefix to weights, not all zero.
        order: how many last tokens `row` looks at; None for all of them.
    """

    name: str
    vocabulary: int
    row: Callable[[Prefix], Weights]
    order: int | None = None

    def law(self, prefix: Prefix) -> Law:
        return warped(self.row(prefix))

    def forward(self, prefix: Prefix) -> Callable[[Any], Any]:
        """What `verify` calls after `prefix`, whose last token is pending: M token ids to M rows."""

        def rows(ids: Any) -> Any:
            fed = tuple(ids.tolist())
            assert fed[0] == prefix[-1], "row 0 must be the pending token"
            return array(self.row(prefix + fed[1 : i + 1]) for i in range(len(fed)))

        return rows


@dataclass(frozen=True)
class Source:
    """A draft source.

    Attributes:
        name: for test ids.
        law: prefix to the law of the next drafted token, or None to propose no more from there.
        sampled: draw from the law and hand the laws over; else take its top token, deterministically.
        order: how many last tokens `law` looks at; None for all of them.
        withheld: sampled, but the laws are not handed over: sample-and-match has to do.
    """

    name: str
    law: Callable[[Prefix], Law | None]
    sampled: bool = True
    order: int | None = None
    withheld: bool = False

    @property
    def reports(self) -> bool:
        """Whether its drafts come with the laws that they were drawn from."""
        return self.sampled and not self.withheld

    def propose(self, prefix: Prefix, k: int, dice: Dice, *, coupled: bool = False) -> Draft:
        """Up to `k` tokens; `coupled` draws each with its position's noise, as seed-exact sources do."""
        drawn: list[int] = []
        laws: list[Law] = []
        coupled = coupled and self.reports
        # Whether to go on is asked before a token is drawn: a drawn one always stays.
        while len(drawn) < k and (law := self.law(prefix + tuple(drawn))) is not None:
            if coupled:
                token = dice.draw_at(array([law]), len(prefix) + len(drawn))[0]
            else:
                token = dice.draw(array([law]))[0] if self.sampled else law.index(max(law))
            drawn.append(int(token))
            laws.append(law)
        handed = laws and self.reports and not coupled
        return Draft(tokens(drawn), array(laws) if handed else None)


def _rows(*rows: str) -> list[Weights]:
    """Rows written as digits: "310" is weights 3, 1, 0."""
    return [tuple(int(w) for w in row) for row in rows]


def _number(prefix: Prefix) -> int:
    """A fixed, uneven number for each prefix."""
    n = 1
    for token in prefix:
        n = (n * 5 + token * 3 + 1) % 1009
    return n


def _history(table: list[Weights]) -> Callable[[Prefix], Weights]:
    return lambda prefix: table[_number(prefix) % len(table)]


def _last(table: list[Weights]) -> Callable[[Prefix], Weights]:
    """Depends on the last token and the one before it."""
    return lambda prefix: table[(prefix[-1] + 2 * prefix[-2]) % len(table)]


def penalized(prefix: Prefix, row: Weights) -> Weights:
    """A repetition penalty in whole numbers: what occurred in `prefix` has half the weight."""
    return tuple(w if token in prefix else 2 * w for token, w in enumerate(row))


COIN = Target("coin", 2, _history(_rows("12", "31", "11", "10", "23", "01")))
SKEWED = Target("skewed", 2, _last(_rows("12", "31", "13", "21")), order=2)
TIED = Target("tied", 3, _last(_rows("111", "221", "122", "110")), order=2)
ONE_HOT = Target("one-hot", 3, _last(_rows("100", "001", "010", "001", "100")), order=2)
HOLED = Target("holed", 3, _last(_rows("120", "013", "201", "321", "010")), order=2)
UNEVEN = Target("uneven", 3, _history(_rows("123", "311", "120", "213", "001", "131")))
FORGETFUL = Target("penalized", 3, lambda prefix: penalized(prefix[1:], _rows("321", "123")[prefix[-1] % 2]))
WIDE = Target("wide", 4, _last(_rows("1201", "0310", "2103", "1111", "0020")), order=2)
TARGETS = [COIN, SKEWED, TIED, ONE_HOT, HOLED, UNEVEN, FORGETFUL, WIDE]


def sources(target: Target) -> list[Source]:
    """Every kind of draft source for `target`: sampled ones, then deterministic ones."""
    v, order = target.vocabulary, target.order
    uniform = normal((1,) * v)

    def one_hot(token: int) -> Law:
        return tuple(Fraction(int(x == token)) for x in range(v))

    def right(prefix: Prefix) -> Law:
        law = target.law(prefix)
        return one_hot(law.index(max(law)))

    def wrong(prefix: Prefix) -> Law:
        """On the target's impossible tokens, if there are any; else on its least likely one."""
        law = target.law(prefix)
        impossible = tuple(int(p == 0) for p in law)
        return normal(impossible) if any(impossible) else one_hot(law.index(min(law)))

    def sharp(prefix: Prefix) -> Law:
        return normal(tuple(1 + 6 * (x == (prefix[-1] + 1) % v) for x in range(v)))

    def holed(prefix: Prefix) -> Law:
        """Impossible at one token, whatever the target thinks of it."""
        return normal(tuple((x + 1) * (x != prefix[-1]) for x in range(v)))

    def near(prefix: Prefix) -> Law:
        """The target's own law with a little of the uniform mixed in."""
        return tuple(
            p * Fraction(7, 8) + u * Fraction(1, 8) for p, u in zip(target.law(prefix), uniform, strict=True)
        )

    def level(prefix: Prefix) -> Law:
        """Equal to the target at its first token, other than it elsewhere: p/q is exactly 1 there."""
        p = target.law(prefix)
        rest = [p[2], p[1], *p[3:]] if v > 2 else list(p[1:])
        return (p[0], *rest)

    def hesitant(prefix: Prefix) -> Law | None:
        """Stops before it draws, by what it drafted so far: drafts of any length, the empty one too."""
        return None if (sum(prefix) + len(prefix)) % 3 == 0 else near(prefix)

    def lookup(prefix: Prefix) -> Law | None:
        """What followed the last token the last time that it occurred."""
        for at in range(len(prefix) - 2, -1, -1):
            if prefix[at] == prefix[-1]:
                return one_hot(prefix[at + 1])
        return None

    return [
        Source("equal", target.law, order=order),
        Source("near", near, order=order),
        Source("level", level, order=order),
        Source("uniform", lambda prefix: uniform, order=0),
        Source("sharp", sharp, order=1),
        Source("holed", holed, order=1),
        Source("right-drawn", right, order=order),
        Source("wrong-drawn", wrong, order=order),
        Source("hesitant", hesitant),
        Source("withheld", sharp, order=1, withheld=True),
        Source("right", right, sampled=False, order=order),
        Source("wrong", wrong, sampled=False, order=order),
        Source("lookup", lookup, sampled=False),
        Source("halting", hesitant, sampled=False),
        Source("empty", lambda prefix: None, sampled=False, order=0),
    ]
