"""Evidence that may be looked at after every round."""

from __future__ import annotations

import random

from mlx_spec.policy.evidence import Evidence


def ever_convinced(mean: float, seed: int) -> tuple[bool, bool]:
    rng = random.Random(seed)
    evidence = Evidence()
    pays = loses = False
    for _ in range(300):
        evidence.observe(rng.uniform(-1, 1) * 0.5 + mean, 1.0)
        pays = pays or evidence.pays >= Evidence.ENOUGH
        loses = loses or evidence.loses >= Evidence.ENOUGH
    return pays, loses


def test_rounds_that_neither_pay_nor_lose_seldom_convince_however_often_one_looks() -> None:
    convinced = [ever_convinced(0.0, seed) for seed in range(300)]
    assert sum(pays for pays, _ in convinced) <= 25  # 5% of 300, and its spread
    assert sum(loses for _, loses in convinced) <= 25


def test_rounds_that_pay_convince_of_it_alone() -> None:
    assert all(ever_convinced(0.2, seed) == (True, False) for seed in range(20))


def test_rounds_that_lose_convince_of_it_alone() -> None:
    assert all(ever_convinced(-0.2, seed) == (False, True) for seed in range(20))
