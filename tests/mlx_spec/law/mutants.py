"""Plausible mistakes in speculative sampling, each a small change of the real code.

The exact law must tell every one of them from the real thing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from mlx_spec import acceptance
from mlx_spec.drafts.base import Draft
from mlx_spec.sampling import Dice

from .enumeration import EnumeratingDice
from .loop import Block, Rounds
from .toys import FORGETFUL, TARGETS, Law, Prefix, Source, Target, ToySampler, array, normal

REAL_TABLE = acceptance.rejection_table
REAL_MATCH = acceptance.match


@dataclass(frozen=True)
class Mutant:
    """One mistake.

    Attributes:
        name: for test ids; a sentence in short.
        rules: functions of `mlx_spec.acceptance` that are replaced.
        source: what becomes of the draft source.
        rounds: fields of `Rounds` that are replaced.
        targets: those that the mistake can be made with.
    """

    name: str
    rules: dict[str, Callable[..., Any]] = field(default_factory=dict)
    source: Callable[[Source], Source] = lambda source: source
    rounds: dict[str, Any] = field(default_factory=dict)
    targets: tuple[Target, ...] = tuple(TARGETS)

    def apply(self, target: Target, source: Source, patch: pytest.MonkeyPatch) -> Rounds:
        """Rounds with the mistake in them; undo `patch` afterwards."""
        for name, rule in self.rules.items():
            patch.setattr(acceptance, name, rule)
        return Rounds(target, self.source(source), **self.rounds)


def _drafted(rows: Any, drafted: Any) -> Any:
    """Each row's entry at the drafted token, (K,)."""
    return np.take_along_axis(rows, drafted[:, None], axis=-1)[:, 0]


def _norm(rows: Any) -> Any:
    return array(_normal_or_first(row) for row in rows)


def _normal_or_first(row: Any) -> Law:
    """The law with these weights; the first token if there are none, so that a mutant never stumbles."""
    total = sum(row)
    return tuple(w / total for w in row) if total else normal((1, *[0] * (len(row) - 1)))


def _accepting(rule: Callable[[Fraction, Fraction], Any]) -> dict[str, Callable[..., Any]]:
    """The table with another acceptance probability, a function of the drafted token's p and q."""

    def table(p: Any, q: Any, drafted: Any, xp: Any) -> Any:
        pairs = zip(_drafted(p[:-1], drafted), _drafted(q, drafted), strict=True)
        accept = np.array([Fraction(rule(a, b)) for a, b in pairs], dtype=object)
        return accept, REAL_TABLE(p, q, drafted, xp)[1]

    return {"rejection_table": table}


def _correcting(rule: Callable[[Any, Any], Any]) -> dict[str, Callable[..., Any]]:
    """The table with other weights of the correction, a function of the rows p and q."""

    def table(p: Any, q: Any, drafted: Any, xp: Any) -> Any:
        return REAL_TABLE(p, q, drafted, xp)[0], np.concatenate([_norm(rule(p[:-1], q)), p[-1:]])

    return {"rejection_table": table}


def _late_row(p: Any, q: Any, drafted: Any, xp: Any) -> Any:
    accept, follow = REAL_TABLE(p, q, drafted, xp)
    return accept, np.concatenate([follow[:1], follow[:-1]])


class RawBonus(ToySampler):
    """Warps every verified row but the last one."""

    def laws(self, logits: Any) -> Any:
        rows = super().laws(logits)
        if len(rows) > 1:
            rows[-1] = normal(tuple(logits[-1].tolist()))
        return rows


class OneUniform(EnumeratingDice):
    """Uses one uniform number for all the flips, or all the draws, of a call."""

    def _cells(self, cuts: set[Fraction]) -> Fraction:
        """A uniform number, as the upper end of its cell between neighbouring cuts."""
        ends = sorted({Fraction(0), Fraction(1), *cuts})
        return self.choose([(high, high - low) for low, high in pairwise(ends)])

    def flip(self, probabilities: Any) -> Any:
        u = self._cells(set(probabilities.tolist()))
        return np.array([u <= p for p in probabilities.tolist()], dtype=bool)

    def draw(self, rows: Any) -> Any:
        sums = [[sum(row[: i + 1]) for i in range(len(row))] for row in rows.tolist()]
        u = self._cells({s for row in sums for s in row})
        return np.array([next(i for i, s in enumerate(row) if u <= s) for row in sums], dtype=np.uint32)


class SecondDraws(ToySampler):
    """Draws every row twice, and leaves the second draws for a mistaken match to use."""

    second: Any = None

    def tokens(self, logits: Any) -> Any:
        SecondDraws.second = super().tokens(logits)
        return super().tokens(logits)


def _redrawn_bonus(drawn: Any, drafted: Any, xp: Any) -> Any:
    n, token = REAL_MATCH(drawn, drafted, xp)
    repeats = n == len(drafted) and token == drafted[-1]
    return n, SecondDraws.second[n] if repeats else token


def _redrawn_correction(drawn: Any, drafted: Any, xp: Any) -> Any:
    n, token = REAL_MATCH(drawn, drafted, xp)
    return n, SecondDraws.second[n] if n < len(drafted) else token


class Dropping(Source):
    """Drops a drawn token, and what follows it, when its own q is low."""

    def propose(self, prefix: Prefix, k: int, dice: Dice) -> Draft:
        draft = super().propose(prefix, k, dice)
        if draft.laws is None:
            return draft
        weak = [i for i, q in enumerate(_drafted(draft.laws, draft.tokens)) if q < Fraction(2, 5)]
        keep = weak[0] if weak else k
        return Draft(draft.tokens[:keep], draft.laws[:keep])


class Misreporting(Source):
    """Hands over a sharper law than the one that it drew from."""

    def propose(self, prefix: Prefix, k: int, dice: Dice) -> Draft:
        draft = super().propose(prefix, k, dice)
        return draft if draft.laws is None else Draft(draft.tokens, _norm(draft.laws**2))


def _becoming(kind: type[Source]) -> Callable[[Source], Source]:
    return lambda s: kind(s.name, s.law, s.sampled, s.order, s.withheld)


def _ghosts(memory: Prefix | None, block: Block) -> Prefix:
    return tuple(sorted({*(memory or ()), *block.drafted[block.accepted :]}))


def _haunted(target: Target, memory: Prefix | None) -> Target:
    ghosts = memory or ()
    return replace(target, row=lambda prefix: target.row(prefix[:1] + ghosts + prefix[1:]))


MUTANTS = [
    Mutant("inverted-ratio", _accepting(lambda p, q: min(1, q / p) if p else 1)),
    Mutant("strict-at-equality", _accepting(lambda p, q: min(1, p / q) if p != q else 0)),
    Mutant("never-quite-sure", _accepting(lambda p, q: min(Fraction(63, 64), p / q))),
    Mutant("five-percent-lenience", _accepting(lambda p, q: min(1, Fraction(21, 20) * p / q))),
    Mutant("accepts-by-p-alone", _accepting(lambda p, q: p)),
    Mutant("correction-from-p", _correcting(lambda p, q: p)),
    Mutant("correction-from-absolute-difference", _correcting(lambda p, q: abs(p - q))),
    Mutant("correction-a-row-late", {"rejection_table": _late_row}),
    Mutant("counts-past-the-first-rejection", {"leading": lambda kept, xp: kept.astype(xp.int32).sum()}),
    Mutant("unwarped-bonus", rounds={"sampler": RawBonus}),
    Mutant("one-uniform-for-all-positions", rounds={"dice": OneUniform}),
    Mutant("match-bonus-redrawn-if-it-repeats", {"match": _redrawn_bonus}, rounds={"sampler": SecondDraws}),
    Mutant("match-correction-redrawn", {"match": _redrawn_correction}, rounds={"sampler": SecondDraws}),
    Mutant("drops-a-weak-drawn-token", source=_becoming(Dropping)),
    Mutant("reports-another-q", source=_becoming(Misreporting)),
    Mutant(
        "penalizes-rejected-drafts",
        rounds={"remembered": _ghosts, "haunted": _haunted},
        targets=(FORGETFUL,),
    ),
]
