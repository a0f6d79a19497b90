"""Speeds, intervals and sets of the best from synthetic timings whose truth is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bench.statistics import FEWEST, Bootstrap, Timings, ratio


def timings(
    truth: list[float],
    *,
    prompts: int,
    repeats: int = 1,
    seed: int,
    between: float = 0.08,
    noise: float = 0.06,
    drift: float = 0.1,
) -> Timings:
    """Blocks on a machine that is up to four times slower in some, and slows down within each.

    Args:
        truth: speed of each way; the first is the baseline, at both ends of a block.
        prompts, repeats: blocks are their product.
        seed: of everything.
        between: standard deviation over prompts of each way's log speed.
        noise: the same over runs, with the heavy tails of Student's t with three degrees of freedom.
        drift: by which a block's end is slower than its start.
    """
    random = np.random.default_rng(seed)
    ways = len(truth)
    names, tokens, seconds = [], [], []
    for prompt in range(prompts):
        own = np.concatenate([[0.0], random.normal(0, between, ways - 1)])
        for _ in range(repeats):
            length = float(random.integers(20, 65))
            token = math.exp(random.uniform(-0.7, 0.7))
            place = np.concatenate([[0.0], (1 + random.permutation(ways - 1)) / ways])
            spread = noise / math.sqrt(3) * random.standard_t(3, size=ways + 1)
            took = length * token * np.exp(-np.log(truth) - own + drift * place + spread[:ways])
            took[0] += length * token * math.exp(drift + spread[ways])
            names.append(f"p{prompt}")
            tokens.append([2 * length, *[length] * (ways - 1)])
            seconds.append(took)
    return Timings(names, np.array(tokens), np.array(seconds))


def steady(speeds: list[float], prompts: int = 6) -> Timings:
    """Blocks without any noise."""
    seconds = [[(1 + i) / speed for speed in speeds] for i in range(prompts)]
    return Timings([f"p{i}" for i in range(prompts)], np.ones((prompts, len(speeds))), np.array(seconds))


def test_speed_is_all_tokens_over_all_seconds_and_never_a_mean_of_ratios() -> None:
    found = Bootstrap(Timings(["a", "b"], np.array([[10, 10], [30, 30]]), np.array([[1.0, 2.0], [4.0, 3.0]])))
    assert found.speed(0) == pytest.approx(8.0)
    assert found.ratio(1, 0).value == pytest.approx(1.0)


def test_without_noise_a_ratio_is_exact_whatever_the_machine_did() -> None:
    found = Bootstrap(steady([1.0, 1.5])).ratio(1, 0)
    assert (found.low, found.value, found.high) == pytest.approx((1.5, 1.5, 1.5))


def test_without_noise_the_fastest_is_alone() -> None:
    assert Bootstrap(steady([1.0, 1.5, 1.4])).best([0, 1, 2]) == [1]
    assert Bootstrap(steady([1.0, 1.5, 1.5])).best([0, 1, 2]) == [1, 2]


def test_few_prompts_bound_nothing() -> None:
    few = Bootstrap(timings([1, 1.5, 1.2], prompts=FEWEST - 1, repeats=5, seed=0))
    assert not few.ratio(1, 0).bounded
    assert few.ratio(1, 0).as_json()["low"] is None
    assert few.at_least(1, 0) == 0
    assert few.best([0, 1, 2]) == [0, 1, 2]
    assert "to" not in ratio(few.ratio(1, 0))


def test_more_blocks_of_the_same_prompts_do_not_pass_for_more_prompts() -> None:
    once = timings([1, 1.3], prompts=6, repeats=1, seed=2, noise=0.001, drift=0)
    again = Timings([*once.prompts] * 9, np.tile(once.tokens, (9, 1)), np.tile(once.seconds, (9, 1)))
    widths = [(found := Bootstrap(each).ratio(1, 0)).high - found.low for each in (once, again)]
    assert widths[1] > 0.7 * widths[0]


def test_the_same_seed_draws_the_same() -> None:
    data = timings([1, 1.3], prompts=6, seed=3)
    assert Bootstrap(data).ratio(1, 0) == Bootstrap(data).ratio(1, 0)


def test_higher_confidence_is_a_wider_interval() -> None:
    found = Bootstrap(timings([1, 1.3], prompts=12, seed=3))
    narrow, wide = found.ratio(1, 0, 0.8), found.ratio(1, 0, 0.99)
    assert wide.low < narrow.low < narrow.value < narrow.high < wide.high


def test_prompts_may_have_unequal_numbers_of_blocks() -> None:
    data = timings([1, 1.3], prompts=6, repeats=2, seed=1)
    part = Timings(data.prompts[:-1], data.tokens[:-1], data.seconds[:-1])
    assert Bootstrap(part).ratio(1, 0).bounded


def test_no_blocks_are_refused() -> None:
    with pytest.raises(ValueError, match="no block"):
        Bootstrap(Timings([], np.zeros((0, 2)), np.zeros((0, 2))))


def test_two_sweeps_apart_are_compared_by_their_ratios() -> None:
    before, after = (Bootstrap(steady([pace, 1.2 * pace * gain])) for pace, gain in ((1.0, 1.0), (3.0, 1.1)))
    assert after.over(before, (1, 0), (1, 0)).value == pytest.approx(1.1)


RUNS = 400
SHAPES = [(6, 1), (12, 2), (24, 1)]
TRUTHS = [[1.0] * 6, [1.0, 0.95, 1.2, 1.25, 1.3, 1.1]]


@pytest.mark.slow
@pytest.mark.parametrize("truth", TRUTHS, ids=["null", "gain"])
@pytest.mark.parametrize(("prompts", "repeats"), SHAPES)
def test_intervals_cover_the_truth_as_often_as_they_say(
    truth: list[float], prompts: int, repeats: int
) -> None:
    covered = 0
    for seed in range(RUNS):
        found = Bootstrap(timings(truth, prompts=prompts, repeats=repeats, seed=seed), 1000, seed).ratio(3, 0)
        covered += found.low <= truth[3] <= found.high
    # Three standard errors of 400 runs are 3.3 points; six prompts with such tails cost another two.
    assert covered / RUNS >= (0.90 if prompts < 12 else 0.917)
    assert covered / RUNS <= 0.99


@pytest.mark.slow
@pytest.mark.parametrize("truth", TRUTHS, ids=["null", "gain"])
@pytest.mark.parametrize(("prompts", "repeats"), SHAPES)
def test_the_set_of_the_best_holds_the_best_one(truth: list[float], prompts: int, repeats: int) -> None:
    best = int(np.argmax(truth))
    held = 0
    for seed in range(RUNS):
        found = Bootstrap(timings(truth, prompts=prompts, repeats=repeats, seed=seed), 1000, seed)
        held += best in found.best(range(6))
    assert held / RUNS >= 0.95 - 3 * math.sqrt(0.05 * 0.95 / RUNS) if max(truth) == 1 else held / RUNS >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize(("prompts", "repeats"), SHAPES)
def test_a_null_sweep_declares_no_winner(prompts: int, repeats: int) -> None:
    winners = beaten = 0
    for seed in range(RUNS):
        found = Bootstrap(timings([1.0] * 6, prompts=prompts, repeats=repeats, seed=seed), 1000, seed)
        best = found.best(range(6))
        winners += len(best) == 1
        beaten += 0 not in best
    assert winners / RUNS <= 0.02
    assert beaten / RUNS <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / RUNS)


@pytest.mark.slow
def test_a_real_lead_is_seen() -> None:
    seen = sum(
        0 not in Bootstrap(timings(TRUTHS[1], prompts=24, seed=seed), 1000, seed).best(range(6))
        for seed in range(50)
    )
    assert seen >= 49
