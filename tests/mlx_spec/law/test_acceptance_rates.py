"""How often drafts stand on the device: as often as each rule's closed form says.

Fixed pairs and seeds, 99.9% binomial intervals; the closed forms are checked on their own.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from mlx_spec.law import acceptance
from mlx_spec.law.noise import Noise

from .dice_statistics import plausible
from .enumeration import EnumeratingDice, law_of
from .toys import array, tokens

N = 2000
PAIRS = {
    "close": ([50, 30, 20], [40, 40, 20]),
    "far": ([90, 5, 5], [5, 5, 90]),
    "disjoint": ([50, 50, 0], [0, 0, 100]),
    "equal": ([70, 20, 10], [70, 20, 10]),
    "holed": ([0, 25, 35, 40, 0], [10, 0, 50, 30, 10]),
    "two": ([35, 65], [60, 40]),
    "long": ([40, 20, 10, 10, 5, 5, 4, 3, 2, 1], [30, 30, 5, 5, 10, 5, 3, 4, 1, 7]),
}
pairs = pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS.keys())
Pair = tuple[list[int], list[int]]


def exact(weights: list[int]) -> tuple[Fraction, ...]:
    return tuple(Fraction(w, 100) for w in weights)


def rows(weights: list[int], n: int = N) -> mx.array:
    return mx.broadcast_to(mx.array([w / 100 for w in weights]), (n, len(weights)))


def overlap(p: list[int], q: list[int]) -> float:
    return sum(map(min, p, q)) / 100


def coupled_match(p: list[int], q: list[int]) -> float:
    """P(one race of exponential clocks has the same winner at rates p and at rates q).

    Token x wins both if each other clock y rings after max(p_y/p_x, q_y/q_x) times the time of x.
    """
    both = [x for x in range(len(p)) if p[x] and q[x]]
    return sum(1 / sum(max(py / p[x], qy / q[x]) for py, qy in zip(p, q, strict=True)) for x in both)


@pairs
def test_rejection_accepts_as_often_as_the_laws_overlap(pair: Pair) -> None:
    p, q = pair
    dice = Noise(21)
    drafted = dice.draw(rows(q))
    accept, _ = acceptance.rejection_table(rows(p, N + 1), rows(q), drafted, mx)
    assert plausible(int(dice.flip(accept).sum().item()), N, overlap(p, q))


@pairs
def test_seed_exact_accepts_as_often_as_its_closed_form_says(pair: Pair) -> None:
    p, q = pair
    dice = Noise(22)
    same = dice.draw_at(rows(q), 100) == dice.draw_at(rows(p), 100)
    assert plausible(int(same.sum().item()), N, round(coupled_match(p, q), 9))


@pairs
def test_the_closed_form_is_the_gumbel_maximums(pair: Pair) -> None:
    """Written otherwise and counted otherwise: argmax(log p + g) in float64, by numpy's generator."""
    p, q = pair
    n = 100_000
    gumbel = np.random.default_rng(1).gumbel(size=(n, len(p)))
    with np.errstate(divide="ignore"):
        winners = [(np.log(np.array(law)) + gumbel).argmax(axis=-1) for law in (p, q)]
    assert plausible(int((winners[0] == winners[1]).sum()), n, round(coupled_match(p, q), 9))


@pairs
def test_the_closed_form_lies_between_its_bounds(pair: Pair) -> None:
    """No coupling beats the overlap 1 - d; this one is worth (1 - d) / (1 + d) at least."""
    p, q = pair
    distance = 1 - overlap(p, q)
    low, high = (1 - distance) / (1 + distance), 1 - distance
    assert low - 1e-12 <= coupled_match(p, q) <= high + 1e-12
    if len(p) == 2:
        assert coupled_match(p, q) == pytest.approx(high)


@pairs
def test_match_accepts_a_fixed_draft_with_its_probability(pair: Pair) -> None:
    p = pair[0]
    drawn = Noise(30).draw_at(rows(p), 0)
    for token, weight in enumerate(p):
        stands = acceptance.leading(drawn[:1] == mx.array([token]), mx)
        assert stands.item() == (drawn[0].item() == token)
        assert plausible(int((drawn == token).sum().item()), N, weight / 100)


@pairs
def test_independent_draws_would_match_less(pair: Pair) -> None:
    """What drawing both sides apart and comparing accepts: sum(p q), for comparison."""
    p, q = pair
    apart = sum(a * b for a, b in zip(p, q, strict=True)) / 10_000
    drafted, drawn = Noise(23).draw(rows(q)), Noise(24).draw(rows(p))
    assert plausible(int((drafted == drawn).sum().item()), N, apart)
    assert apart <= coupled_match(p, q)


@pytest.mark.parametrize("rule", [acceptance.reject, acceptance.block])
@pytest.mark.parametrize("name", ["close", "holed"])
def test_whole_rounds_accept_and_emit_as_the_exact_law_says(name: str, rule: Any) -> None:
    """K=2 on the device: how many stand, and the first token, against the enumerated round."""
    p, q = PAIRS[name]

    def play(dice: EnumeratingDice) -> tuple[int, int]:
        drafted = tokens(dice.draw(array([exact(q)] * 2)))
        n, token = rule(array([exact(p)] * 3), array([exact(q)] * 2), drafted, dice, np)
        return int(n), int(drafted[0] if n else token)

    law, dice, times = law_of(play), Noise(8), 600
    played = []
    for _ in range(times):
        drafted = dice.draw(rows(q, 2))
        n, token = rule(rows(p, 3), rows(q, 2), drafted, dice, mx)
        first = mx.where(n > 0, drafted[0], token)
        played.append(mx.stack([n.astype(mx.uint32), first.astype(mx.uint32)]))
    counted = np.array(mx.stack(played))
    for outcome in {(n, x) for n in range(3) for x in range(len(p))}:
        seen = int((counted == np.array(outcome)).all(axis=-1).sum())
        assert plausible(seen, times, float(law.get(outcome, 0))), outcome
