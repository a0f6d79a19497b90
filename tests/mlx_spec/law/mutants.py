"""Plausible mistakes in speculative sampling, each a small change of the real code.

The exact law must tell every one of them from the real thing, under every rule that it can be made in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from mlx_spec.drafts.base import Draft
from mlx_spec.law import acceptance
from mlx_spec.law.noise import Dice

from .enumeration import EnumeratingDice
from .loop import RULES, Block, Rounds
from .toys import FORGETFUL, TARGETS, Law, Prefix, Source, Target, ToySampler, array, normal

REAL_TABLE = acceptance.rejection_table
REAL_BLOCK = acceptance.block_table
REAL_RATIOS = acceptance._ratios
REAL_MATCH = acceptance.match
BOTH = tuple(RULES)


@dataclass(frozen=True)
class Mutant:
    """One mistake.

    Attributes:
        name: for test ids; a sentence in short.
        under: names of the rules that it can be made in.
        changed: functions of `mlx_spec.law.acceptance` that are replaced.
        source: what becomes of the draft source.
        rounds: fields of `Rounds` that are replaced.
        targets: those that the mistake can be made with.
    """

    name: str
    under: tuple[str, ...] = BOTH
    changed: dict[str, Callable[..., Any]] = field(default_factory=dict)
    source: Callable[[Source], Source] = lambda source: source
    rounds: dict[str, Any] = field(default_factory=dict)
    targets: tuple[Target, ...] = tuple(TARGETS)

    def apply(self, target: Target, source: Source, rule: str, patch: pytest.MonkeyPatch) -> Rounds:
        """Rounds with the mistake in them; undo `patch` afterwards."""
        for name, function in self.changed.items():
            patch.setattr(acceptance, name, function)
        changes = {"rule": RULES.get(rule, acceptance.block), **self.rounds}
        return Rounds(target, self.source(source), **changes)


def _drafted(rows: Any, drafted: Any) -> Any:
    """Each row's entry at the drafted token, (K,)."""
    return np.take_along_axis(rows, drafted[:, None], axis=-1)[:, 0]


def _norm(rows: Any) -> Any:
    return array(_normal_or_first(row) for row in rows)


def _normal_or_first(row: Any) -> Law:
    """The law with these weights; the first token if there are none, so that a mutant never stumbles."""
    total = sum(row)
    return tuple(w / total for w in row) if total else normal((1, *[0] * (len(row) - 1)))


def _ratio(rule: Callable[[Fraction, Fraction], Any]) -> dict[str, Callable[..., Any]]:
    """Another p/q of the drafted tokens, a function of their p and q: both rules judge by it."""

    def ratios(p: Any, q: Any, drafted: Any, xp: Any) -> Any:
        pairs = zip(_drafted(p[:-1], drafted), _drafted(q, drafted), strict=True)
        return np.array([Fraction(rule(a, b)) for a, b in pairs], dtype=object)

    return {"_ratios": ratios}


def _correction(rule: Callable[[Any, Any, Any], Any]) -> dict[str, Callable[..., Any]]:
    """Other weights of the correction, a function of the rows w p, q and p; w is 1 token by token."""

    def rejection(p: Any, q: Any, drafted: Any, xp: Any) -> Any:
        return REAL_TABLE(p, q, drafted, xp)[0], np.concatenate([_norm(rule(p[:-1], q, p[:-1])), p[-1:]])

    def block(p: Any, q: Any, drafted: Any, xp: Any) -> Any:
        weights = [Fraction(1)]
        for ratio in REAL_RATIOS(p, q, drafted, xp)[:-1]:
            weights.append(min(weights[-1] * ratio, Fraction(1)))
        weighted = np.array(weights, dtype=object)[:, None] * p[:-1]
        follow = np.concatenate([_norm(rule(weighted, q, p[:-1])), p[-1:]])
        return REAL_BLOCK(p, q, drafted, xp)[0], follow

    return {"rejection_table": rejection, "block_table": block}


def _coins(rule: Callable[[Any], Any], follow: Callable[[Any], Any] = lambda rows: rows) -> dict[str, Any]:
    """Other probabilities of the coins, and other rows to follow, under both rules."""

    def table(real: Callable[..., Any], p: Any, q: Any, drafted: Any, xp: Any) -> Any:
        accept, rows = real(p, q, drafted, xp)
        return rule(accept), follow(rows)

    return {"rejection_table": partial(table, REAL_TABLE), "block_table": partial(table, REAL_BLOCK)}


def _token_coins(p: Any, q: Any, drafted: Any, xp: Any) -> Any:
    return REAL_TABLE(p, q, drafted, xp)[0], REAL_BLOCK(p, q, drafted, xp)[1]


def _weights_as_coins(p: Any, q: Any, drafted: Any, xp: Any) -> Any:
    weights = [Fraction(1)]
    for ratio in REAL_RATIOS(p, q, drafted, xp):
        weights.append(min(weights[-1] * ratio, Fraction(1)))
    return np.array(weights[1:], dtype=object), REAL_BLOCK(p, q, drafted, xp)[1]


def _uncapped(p: Any, q: Any, drafted: Any, xp: Any) -> Any:
    """The product of the ratios is capped at the end and not at every token."""
    product = np.cumprod(REAL_RATIOS(p, q, drafted, xp))
    stand, follow = REAL_BLOCK(p, q, drafted, xp)
    return np.append(stand[:-1], min(product[-1], Fraction(1))), follow


def _block_by_leading(p: Any, q: Any, drafted: Any, dice: Dice, xp: Any) -> Any:
    stand, follow = acceptance.block_table(p, q, drafted, xp)
    n = acceptance.leading(dice.flip(stand), xp)
    return n, dice.draw(xp.take(follow, n, axis=0)[None])[0]


class RawBonus(ToySampler):
    """Warps every verified row but the last one."""

    def laws(self, logits: Any, committed: Any, drafted: Any = None) -> Any:
        rows = super().laws(logits, committed, drafted)
        if len(rows) > 1:
            rows[-1] = normal(tuple(logits[-1].tolist()))
        return rows


class OneUniform(EnumeratingDice):
    """Uses one uniform number for all the coins, or all the rows, of a call."""

    def _cells(self, cuts: set[Fraction]) -> Fraction:
        """A uniform number, as the upper end of its cell between neighbouring cuts."""
        ends = sorted({Fraction(0), Fraction(1), *cuts})
        return self.choose([(high, high - low) for low, high in pairwise(ends)])

    def flip(self, probabilities: Any) -> Any:
        u = self._cells(set(probabilities.tolist()))
        return np.array([u <= p for p in probabilities.tolist()], dtype=bool)

    def _rows(self, rows: Any) -> Any:
        sums = [[sum(row[: i + 1]) for i in range(len(row))] for row in rows.tolist()]
        u = self._cells({s for row in sums for s in row})
        return np.array([next(i for i, s in enumerate(row) if u <= s) for row in sums], dtype=np.uint32)

    def draw(self, rows: Any) -> Any:
        return self._rows(rows)

    def draw_at(self, rows: Any, position: int) -> Any:
        return self._rows(rows)


class DraftsNoise(EnumeratingDice):
    """Draws a correction with the noise that drew the draft token which it replaces."""

    def __init__(self, given: Sequence[int] = ()) -> None:
        super().__init__(given)
        self._drafts = 0
        self._accepted: int | None = None

    def flip(self, probabilities: Any) -> Any:
        flips = super().flip(probabilities)
        self._accepted = self.count(flips.tolist())
        return flips

    def draw(self, rows: Any) -> Any:
        at = self._drafts if self._accepted is None else self._accepted
        self._drafts += 1
        return np.array([self.draw_with(("draft", at), tuple(rows[0]))], dtype=np.uint32)

    @staticmethod
    def count(flips: list[bool]) -> int:
        """How many drafted tokens stand, token by token."""
        return next((i for i, stands in enumerate(flips) if not stands), len(flips))


class DraftsNoiseInBlock(DraftsNoise):
    @staticmethod
    def count(flips: list[bool]) -> int:
        return max((i + 1 for i, stands in enumerate(flips) if stands), default=0)


class CoinsNoise(EnumeratingDice):
    """Draws what follows with the uniform number of the last coin that fell."""

    def flip(self, probabilities: Any) -> Any:
        flips = []
        for p in probabilities.tolist():
            self._known.pop("coin", None)
            flips.append(self.draw_with("coin", (p, 1 - p)) == 0)
        return np.array(flips, dtype=bool)

    def draw(self, rows: Any) -> Any:
        if "coin" not in self._known:
            return super().draw(rows)
        return np.array([self.draw_with("coin", tuple(rows[0]))], dtype=np.uint32)


class RowNoise(EnumeratingDice):
    """Keys noise by the row of the verification and not by the position in the text."""

    def draw_at(self, rows: Any, position: int) -> Any:
        return super().draw_at(rows, 0)


class CalledNoise(EnumeratingDice):
    """Keys noise by how many draws there were before."""

    def draw_at(self, rows: Any, position: int) -> Any:
        return self.draw(rows)


class LateNoise(ToySampler):
    """Counts positions from the end of the draft."""

    def choose(self, rows: Any, position: int) -> Any:
        return self.dice.draw_at(rows, position + len(rows) - 1)


class SecondDraws(ToySampler):
    """Draws every row twice, and leaves the second draws for a mistaken match to use."""

    second: Any = None

    def choose(self, rows: Any, position: int) -> Any:
        SecondDraws.second = self.dice.draw(rows)
        return super().choose(rows, position)


def _redrawn_bonus(drawn: Any, drafted: Any, xp: Any) -> Any:
    n, token = REAL_MATCH(drawn, drafted, xp)
    repeats = n == len(drafted) and token == drafted[-1]
    return n, SecondDraws.second[n] if repeats else token


def _redrawn_correction(drawn: Any, drafted: Any, xp: Any) -> Any:
    n, token = REAL_MATCH(drawn, drafted, xp)
    return n, SecondDraws.second[n] if n < len(drafted) else token


class Dropping(Source):
    """Drops a drawn token, and what follows it, when its own q is low."""

    def propose(self, prefix: Prefix, k: int, dice: Dice, *, coupled: bool = False) -> Draft:
        draft = super().propose(prefix, k, dice, coupled=coupled)
        if draft.laws is None:
            return draft
        weak = [i for i, q in enumerate(_drafted(draft.laws, draft.tokens)) if q < Fraction(2, 5)]
        keep = weak[0] if weak else k
        return Draft(draft.tokens[:keep], draft.laws[:keep])


class Misreporting(Source):
    """Hands over a sharper law than the one that it drew from."""

    def propose(self, prefix: Prefix, k: int, dice: Dice, *, coupled: bool = False) -> Draft:
        draft = super().propose(prefix, k, dice, coupled=coupled)
        return draft if draft.laws is None else Draft(draft.tokens, _norm(draft.laws**2))


def _becoming(kind: type[Source]) -> Callable[[Source], Source]:
    return lambda s: kind(s.name, s.law, s.sampled, s.order, s.withheld)


def _ghosts(memory: Prefix | None, block: Block) -> Prefix:
    return tuple(sorted({*(memory or ()), *block.drafted[block.accepted :]}))


def _haunted(target: Target, memory: Prefix | None) -> Target:
    ghosts = memory or ()
    return replace(target, row=lambda prefix: target.row(prefix[:1] + ghosts + prefix[1:]))


MUTANTS = [
    Mutant("inverted-ratio", changed=_ratio(lambda p, q: q / p if p else 1)),
    Mutant("correction-from-p", changed=_correction(lambda wp, q, p: p)),
    Mutant("correction-from-absolute-difference", changed=_correction(lambda wp, q, p: abs(wp - q))),
    Mutant("strict-at-equality", changed=_ratio(lambda p, q: p / q if p != q else 0)),
    Mutant("unwarped-bonus", rounds={"sampler": RawBonus}),
    Mutant("drops-a-weak-drawn-token", source=_becoming(Dropping)),
    Mutant("five-percent-lenience", changed=_ratio(lambda p, q: Fraction(21, 20) * p / q)),
    Mutant(
        "penalizes-rejected-drafts",
        under=("token-wise", "block", "match"),
        rounds={"remembered": _ghosts, "haunted": _haunted},
        targets=(FORGETFUL,),
    ),
    Mutant("one-uniform-for-all-coins", under=("token-wise", "block", "match"), rounds={"dice": OneUniform}),
    Mutant("correction-with-the-drafts-noise", under=("token-wise",), rounds={"dice": DraftsNoise}),
    Mutant("correction-with-the-drafts-noise", under=("block",), rounds={"dice": DraftsNoiseInBlock}),
    Mutant("correction-with-the-coins-noise", rounds={"dice": CoinsNoise}),
    Mutant("reports-another-q", source=_becoming(Misreporting)),
    Mutant("accepts-by-p-alone", changed=_ratio(lambda p, q: p)),
    Mutant("never-quite-sure", changed=_coins(lambda coins: np.minimum(coins, Fraction(63, 64)))),
    Mutant(
        "correction-a-row-late",
        changed=_coins(lambda coins: coins, lambda rows: np.concatenate([rows[:1], rows[:-1]])),
    ),
    Mutant(
        "counts-past-the-first-rejection",
        under=("token-wise", "match"),
        changed={"leading": lambda kept, xp: kept.astype(xp.int32).sum()},
    ),
    Mutant(
        "block-correction-without-its-weight",
        under=("block",),
        changed={"block_table": _correction(lambda wp, q, p: np.maximum(p - q, 0))["block_table"]},
    ),
    Mutant("block-ends-at-its-first-failed-coin", under=("block",), rounds={"rule": _block_by_leading}),
    Mutant("block-with-token-wise-coins", under=("block",), changed={"block_table": _token_coins}),
    Mutant("block-with-its-weights-as-coins", under=("block",), changed={"block_table": _weights_as_coins}),
    Mutant("block-product-capped-at-the-end", under=("block",), changed={"block_table": _uncapped}),
    Mutant(
        "match-bonus-redrawn-if-it-repeats",
        under=("match",),
        changed={"match": _redrawn_bonus},
        rounds={"sampler": SecondDraws},
    ),
    Mutant(
        "match-correction-redrawn",
        under=("match",),
        changed={"match": _redrawn_correction},
        rounds={"sampler": SecondDraws},
    ),
]

# Mistakes that keep the law and lose the seed: told play by play.
SEED_MUTANTS = [
    Mutant("noise-by-row", under=("seed-exact",), rounds={"dice": RowNoise}),
    Mutant("noise-by-call", under=("seed-exact",), rounds={"dice": CalledNoise}),
    Mutant(
        "noise-late-by-the-draft",
        under=("seed-exact",),
        rounds={"sampler": partial(LateNoise, seed_exact=True)},
    ),
    Mutant(
        "correction-with-fresh-noise",
        under=("seed-exact",),
        changed={"match": _redrawn_correction},
        rounds={"sampler": partial(SecondDraws, seed_exact=True)},
    ),
    Mutant(
        "judged-by-rejection-and-not-by-match",
        under=("seed-exact",),
        rounds={"sampler": ToySampler},
    ),
]
