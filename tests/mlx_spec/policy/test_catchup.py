"""Text that a source must read before it can be asked: what it costs, and that the loss budget pays."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paced import FLAT, PARALLEL, table

from mlx_spec.policy.auto import AutoK
from mlx_spec.policy.budget import LossBudget
from mlx_spec.policy.step import Step


def play(
    controller: AutoK, price: float, tokens: int, behind: int, emitted: int = 4
) -> tuple[list[Step], float]:
    """Steps of a source that reads at `price` plain steps a token, and the time they took."""
    controller.begin(behind + 1, behind)
    steps: list[Step] = []
    time, written = 0.0, 0
    while written < tokens:
        k = controller.next_k()
        read = behind if k else 0
        gives = min(emitted, k + 1)
        cost = table(PARALLEL, c=0.1).round(k) if k else 1.0
        behind = 0 if k else behind + 1
        steps.append(Step(k, k, gives, cost, written, read, read * price, behind if behind > 16 else 0))
        controller.observe(steps[-1])
        time, written = time + cost + read * price, written + gives
    return steps, time


def auto() -> AutoK:
    return AutoK("s", [table(PARALLEL, c=0.1)])


def test_a_prompt_that_costs_little_to_read_is_read_at_once() -> None:
    controller = auto()
    controller.prefilled(100, 1.0)  # 1% of a plain step a token, and a draft model takes a tenth of that
    steps, _ = play(controller, 0.001, 20, behind=100)
    assert steps[0].read == 100


def test_a_prompt_that_a_short_answer_cannot_pay_back_is_not_read() -> None:
    controller = auto()
    controller.prefilled(500, 250.0)
    steps, time = play(controller, 0.05, 64, behind=500)
    assert {step.asked for step in steps} == {0}
    assert time == len(steps)
    assert controller.state == "parked"
    assert controller.waits_for_reading


def test_it_is_read_once_the_budget_covers_it() -> None:
    controller = auto()
    controller.prefilled(500, 50.0)
    steps, _ = play(controller, 0.01, 400, behind=500)
    first = next(i for i, step in enumerate(steps) if step.read)
    budget = LossBudget.FIRST + LossBudget.SHARE * first
    assert steps[first].reading_s <= budget
    assert first < 70
    assert controller.state == "speculating"


def test_what_reading_cost_is_remembered_and_told_to_later_runs() -> None:
    controller = auto()
    controller.prefilled(100, 1.0)
    play(controller, 0.04, 20, behind=100)
    again = AutoK("s")
    again.restore(json.loads(json.dumps(controller.as_dict())))
    again.record.catch_up.behind = 50
    assert again.record.catch_up.cost(again.record.costs) == pytest.approx(2.0, rel=0.1)


def test_where_nothing_is_known_reading_is_as_dear_as_decoding() -> None:
    record = auto().record
    record.catch_up.behind = 50
    assert record.catch_up.cost(record.costs) == pytest.approx(50 * 0.1)
    unknown = AutoK("s").record
    unknown.catch_up.behind = 50
    assert unknown.catch_up.cost(unknown.costs) == 50


def test_reading_makes_no_round_dearer() -> None:
    controller = auto()
    controller.prefilled(100, 1.0)
    before = list(controller.record.costs.ratios)
    controller.begin(100, 100)
    k = controller.next_k()
    controller.observe(Step(k, k, 2, before[k], 100, read=100, reading_s=4.0))
    assert controller.record.costs.ratios == pytest.approx(before)


@settings(max_examples=60, deadline=None)
@given(
    st.floats(0.001, 1.0),
    st.integers(0, 2000),
    st.lists(st.tuples(st.floats(0.2, 5.0), st.floats(0.0, 1.0)), min_size=1, max_size=40),
)
def test_reading_and_rounds_together_stay_within_the_loss_budget(
    price: float, behind: int, script: list[tuple[float, float]]
) -> None:
    controller = AutoK("s", [table(FLAT, c=0.1)])
    controller.record.catch_up.price = price
    controller.begin(behind + 1, behind)
    tokens, spent, dearest, played = 0, 0.0, 0.0, 0
    while tokens < 300:
        k = controller.next_k()
        cost, share = script[played % len(script)] if k else (1.0, 0.0)
        played += k > 0
        read = behind if k else 0
        emitted = 1 + round(share * k)
        behind = 0 if k else behind + 1
        controller.observe(Step(k, k, emitted, cost, tokens, read, read * price, behind))
        tokens, spent, dearest = tokens + emitted, spent + cost + read * price, max(dearest, cost)
        bound = (1 + LossBudget.SHARE) * tokens + LossBudget.FIRST + dearest
        assert spent <= bound
