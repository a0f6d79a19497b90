"""Speedups from synthetic timings whose truth is known."""

from __future__ import annotations

import random

import pytest

from bench.statistics import Timing, speedup, tokens_per_second


def drifting_pairs(pairs: int, truth: float, seed: int) -> tuple[list[Timing], list[Timing]]:
    """Pairs on a machine whose speed changes by up to four times between pairs, with 5% noise in each."""
    rng = random.Random(seed)
    ours, baseline = [], []
    for _ in range(pairs):
        seconds = rng.uniform(1, 4)
        ours.append(Timing(32, seconds / truth * rng.uniform(0.95, 1.05)))
        baseline.append(Timing(32, seconds * rng.uniform(0.95, 1.05)))
    return ours, baseline


def test_speed_is_all_tokens_over_all_seconds() -> None:
    assert tokens_per_second([Timing(10, 1.0), Timing(30, 4.0)]) == 8.0


def test_equal_timings_are_a_speedup_of_exactly_one() -> None:
    timings = [Timing(32, seconds) for seconds in (1.0, 4.0, 2.0)]
    estimate = speedup(timings, timings)
    assert (estimate.value, estimate.low, estimate.high) == (1.0, 1.0, 1.0)


def test_speedup_is_the_ratio_of_totals_and_not_the_mean_of_ratios() -> None:
    ours = [Timing(10, 1.0), Timing(10, 9.0)]
    baseline = [Timing(10, 2.0), Timing(10, 8.0)]
    assert speedup(ours, baseline).value == pytest.approx(1.0)


def test_unequal_amounts_of_work_are_compared_by_token() -> None:
    assert speedup([Timing(20, 1.0)] * 2, [Timing(30, 3.0)] * 2).value == pytest.approx(2.0)


@pytest.mark.parametrize("truth", [0.5, 1.0, 1.6])
def test_drift_that_both_halves_share_does_not_widen_the_interval(truth: float) -> None:
    estimate = speedup(*drifting_pairs(12, truth, seed=1))
    assert estimate.low < truth < estimate.high
    assert estimate.high - estimate.low < 0.1 * truth


def test_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    estimates = [speedup(*drifting_pairs(12, 1.0, seed), resamples=500) for seed in range(200)]
    held = sum(e.low <= 1.0 <= e.high for e in estimates)
    assert held >= 170  # 95% of 200, less what twelve pairs and 500 resamples cost


def test_interval_is_the_same_for_the_same_seed() -> None:
    pairs = drifting_pairs(6, 1.2, seed=3)
    assert speedup(*pairs) == speedup(*pairs)


def test_higher_confidence_is_a_wider_interval() -> None:
    pairs = drifting_pairs(6, 1.2, seed=3)
    narrow, wide = speedup(*pairs, confidence=0.8), speedup(*pairs, confidence=0.99)
    assert wide.low < narrow.low < narrow.high < wide.high


def test_unpaired_or_single_timings_are_refused() -> None:
    with pytest.raises(ValueError, match="paired"):
        speedup([Timing(1, 1.0)] * 3, [Timing(1, 1.0)] * 2)
    with pytest.raises(ValueError, match="two pairs"):
        speedup([Timing(1, 1.0)], [Timing(1, 1.0)])
