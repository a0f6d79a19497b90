"""The live speedup and its interval."""

from __future__ import annotations

import random

import pytest
from paced import SERIAL, Backend, table

from mlx_spec.policy.auto import AutoK
from mlx_spec.policy.controller import FixedK
from mlx_spec.policy.speedup import Speedup
from mlx_spec.policy.table import CostTable


def test_nothing_is_told_before_enough_rounds() -> None:
    speedup = Speedup()
    for _ in range(7):
        speedup.observe(2, 1.0)
    assert speedup.interval(0.0) is None


@pytest.mark.parametrize("rounds", [8, 14, 20, 30, 40])
def test_a_large_loss_is_sure_after_few_rounds_and_a_small_one_is_not(rounds: int) -> None:
    large, small = Speedup(), Speedup()
    for n in range(rounds):
        large.observe(1 + n % 3, 4.0)
        small.observe(1 + n % 3, 2.1)
    told, open_still = large.interval(0.001), small.interval(0.001)
    assert told is not None
    assert open_still is not None
    assert told.high < 1
    assert open_still.high > 1


@pytest.mark.parametrize("rounds", [8, 12, 20])
def test_an_early_interval_holds_the_truth_as_often_too(rounds: int) -> None:
    rng = random.Random(5)
    held = 0
    for _ in range(300):
        speedup = Speedup()
        for _ in range(rounds):
            speedup.observe(rng.choice((1, 2, 3, 4)), 2.0 * rng.lognormvariate(0, 0.05))
        measured = speedup.interval(0.001)
        assert measured is not None
        held += measured.low < 1.25 / 1.00125 < measured.high
    assert held >= 276


def test_tokens_over_plain_steps_time() -> None:
    speedup = Speedup()
    for n in range(80):
        speedup.observe(1 + n % 3, 1.6)
    measured = speedup.interval(0.0)
    assert measured is not None
    assert measured.value == pytest.approx(2 / 1.6, rel=0.02)
    assert measured.low < measured.value < measured.high


def test_a_baseline_known_badly_widens_the_interval() -> None:
    speedup = Speedup()
    for n in range(80):
        speedup.observe(1 + n % 3, 1.6)
    sure, unsure = speedup.interval(0.0), speedup.interval(0.01)
    assert sure is not None
    assert unsure is not None
    assert unsure.high / unsure.low > sure.high / sure.low


def test_the_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    rng = random.Random(3)
    held = 0
    for _ in range(200):
        speedup = Speedup()
        for _ in range(160):
            speedup.observe(rng.choice((1, 2, 3, 4)), 2.0 * rng.lognormvariate(0, 0.05))
        measured = speedup.interval(0.0)
        assert measured is not None
        held += measured.low < 1.25 / 1.00125 < measured.high
    assert held >= 184


def test_auto_pairs_with_its_own_plain_steps_while_the_machine_drifts() -> None:
    backend = Backend(table(), lambda position: 0.8, slowness=lambda time: 1 + time % 400 / 200)
    controller = AutoK("s")
    steps = backend.run(controller, 2000)
    measured = controller.record.speedup
    rounds = [s for s in steps if s.drafted]
    truth = sum(s.emitted for s in rounds) / sum(backend.table.round(s.drafted) for s in rounds)
    assert measured is not None
    assert measured.low < truth < measured.high
    assert measured.high / measured.low < 1.5


def test_a_fixed_k_is_paired_with_the_probe() -> None:
    controller = FixedK(4, [table()])
    Backend(table(), lambda position: 0.1).run(controller, 200)
    measured = controller.record.speedup
    assert measured is not None
    assert measured.high < 1
    assert measured.value == pytest.approx((1 / 0.9) / table().round(4), rel=0.1)


def test_a_fixed_k_is_not_compared_with_the_seconds_of_an_earlier_run() -> None:
    kept = CostTable.from_dict(table().as_dict())
    controller = FixedK(4, [kept])
    slow = Backend(table(), lambda position: 0.9, slowness=lambda time: 3.0)
    slow.run(controller, 100)
    assert controller.record.speedup is None
    controller.record.learn(CostTable(0, 3.0, {m: 3.0 * v for m, v in table().verify.items()}, {}, 0.06))
    measured = controller.record.speedup
    assert measured is not None
    assert measured.value == pytest.approx(4.1 / table().round(4), rel=0.15)


def test_rounds_that_cost_more_than_a_table_of_an_earlier_run_says_are_not_taken_for_a_slow_machine() -> None:
    controller = FixedK(4, [CostTable.from_dict(table().as_dict())])
    Backend(table(SERIAL), lambda position: 0.5).run(controller, 100)
    controller.record.learn(table())
    measured = controller.record.speedup
    assert measured is not None
    assert measured.high < 1


def test_a_fixed_k_without_a_probe_tells_no_speedup() -> None:
    controller = FixedK(4)
    Backend(table(), lambda position: 0.1).run(controller, 200)
    assert controller.record.speedup is None
