"""Ratios stay, the scale follows the machine."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from paced import PARALLEL, SERIAL, Backend, table

from mlx_spec.policy.costs import Costs
from mlx_spec.policy.step import Step
from mlx_spec.policy.table import CostTable


def plain(costs: Costs, n: int, seconds: float) -> None:
    for _ in range(n):
        costs.observe(Step(0, 0, 1, seconds))


def rounds(costs: Costs, n: int, k: int, seconds: float) -> None:
    for _ in range(n):
        costs.observe(Step(k, k, 1, seconds))


def test_a_table_is_read_as_measured_and_interpolated_between() -> None:
    one = CostTable(0, 1.0, {1: 2.0, 3: 6.0, 5: 6.5}, {2: 1.0}, 0.5)
    assert [one.rows(m) for m in (1, 2, 3, 4, 5, 7)] == [2, 4, 6, 6.25, 6.5, 7]
    assert one.ratio(3) == 3
    assert [one.drafting(k) for k in (0, 1, 2, 4)] == [0, 0.5, 1, 2]
    assert one.round(2) == 7.5


def test_a_dip_beyond_the_last_measured_row_is_not_drawn_out() -> None:
    assert CostTable(0, 1.0, {1: 1.0, 2: 1.2, 3: 1.1}).rows(9) == 1.1


@pytest.mark.parametrize(
    "wrong",
    [
        {"verify": {2: 1.0}},
        {"verify": {1: 0.0}},
        {"plain": math.nan},
        {"overhead": -1.0},
        {"draft": {1: -1.0}},
    ],
)
def test_a_table_that_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        CostTable(**{"depth": 0, "plain": 1.0, "verify": {1: 1.0}, **wrong})


def test_a_table_survives_json_but_its_seconds_count_no_more() -> None:
    kept = CostTable.from_dict(json.loads(json.dumps(table(c=0.1).as_dict())))
    assert (kept.round(3), kept.fresh) == (table(c=0.1).round(3), False)


def test_a_slower_machine_moves_the_scale_and_no_ratio() -> None:
    costs = Costs([table()], 4)
    before = list(costs.ratios)
    plain(costs, 8, 1.0)
    rounds(costs, 8, 3, table().round(3))
    rounds(costs, 40, 3, 4 * table().round(3))
    plain(costs, 8, 4.0)
    assert costs.scale == pytest.approx(4, rel=0.05)
    assert costs.ratios == pytest.approx(before, rel=0.05)


def test_a_slow_drift_during_rounds_alone_is_followed() -> None:
    costs = Costs([table()], 4)
    plain(costs, 8, 1.0)
    for n in range(300):
        rounds(costs, 1, 3, table().round(3) * 4 ** (n / 300))
    assert costs.scale == pytest.approx(4, rel=0.1)
    assert costs.anchor == pytest.approx(1)


def test_a_dearer_round_moves_its_ratio_once_plain_steps_have_told() -> None:
    costs = Costs([table()], 4)
    for _ in range(4):
        plain(costs, 12, 1.0)
        rounds(costs, 8, 3, 3.0)
    assert costs.ratios[3] == pytest.approx(3, rel=0.1)
    assert costs.scale == pytest.approx(1, rel=0.1)


def test_a_burst_tells_nothing() -> None:
    costs = Costs([table()], 4)
    before = list(costs.ratios)
    plain(costs, 8, 1.0)
    rounds(costs, 4, 3, table().round(3))
    rounds(costs, 2, 3, 3 * table().round(3))
    rounds(costs, 4, 3, table().round(3))
    assert costs.ratios == pytest.approx(before, rel=0.01)
    assert costs.scale == pytest.approx(1, rel=0.01)


def test_the_first_plain_steps_after_rounds_are_not_typical() -> None:
    costs = Costs([table()], 4)
    rounds(costs, 3, 2, table().round(2))
    plain(costs, 2, 1.25)
    assert costs.anchor == pytest.approx(1)


def test_without_a_table_the_first_rounds_tell_and_neighbours_are_guessed_between() -> None:
    costs = Costs([], 7)
    assert costs.scale is None
    plain(costs, 8, 0.1)
    assert not costs.known(4)
    rounds(costs, 4, 4, 0.5)
    assert costs.known(4)
    assert not costs.known(2)
    assert costs.ratios[4] == pytest.approx(5, rel=0.02)
    assert 1 < costs.ratios[2] < costs.ratios[4] < costs.ratios[7]
    assert costs.verify_cost() == {}


def test_rounds_before_any_plain_step_tell_nothing_without_a_table() -> None:
    costs = Costs([], 4)
    rounds(costs, 5, 4, 0.5)
    assert (costs.scale, costs.anchor) == (None, None)


def test_the_table_of_the_nearest_depth_counts() -> None:
    costs = Costs([table(PARALLEL, depth=100), table(SERIAL, depth=8000)], 4)
    assert costs.ratios[4] < 2
    costs.begin(6000)
    assert costs.ratios[4] > 4


def test_what_was_learned_survives_json() -> None:
    costs = Costs([table()], 4)
    Backend(table(SERIAL), lambda position: 0.5)
    for _ in range(4):
        plain(costs, 8, 1.0)
        rounds(costs, 8, 3, 3.0)
    again = Costs.from_dict(json.loads(json.dumps(costs.as_dict())), 4)
    assert again.ratios == pytest.approx(costs.ratios)
    assert again.scale is None
