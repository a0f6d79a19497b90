"""The loss budget holds against anything, if the plain time is right."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paced import FLAT, table

from mlx_spec.policy.auto import AutoK
from mlx_spec.policy.budget import LossBudget
from mlx_spec.policy.step import Step

# Whatever a round may cost or give, in plain steps and in shares of what is possible.
ADVERSE = st.lists(
    st.tuples(st.floats(0.2, 30.0), st.floats(0.0, 1.0)), min_size=1, max_size=60
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(ADVERSE, st.booleans())
def test_no_sequence_of_rounds_costs_more_than_the_budget(
    script: list[tuple[float, float]], probed: bool
) -> None:
    controller = AutoK("s", [table(FLAT)] if probed else [])
    tokens, spent, dearest, played = 0, 0.0, 0.0, 0
    while tokens < 400:
        k = controller.next_k()
        cost, share = script[played % len(script)] if k else (1.0, 0.0)
        played += k > 0
        emitted = 1 + round(share * k)
        controller.observe(Step(k, k, emitted, cost, tokens))
        tokens, spent, dearest = tokens + emitted, spent + cost, max(dearest, cost)
        bound = (1 + LossBudget.SHARE) * tokens + LossBudget.FIRST + dearest
        assert spent <= bound


def test_gains_are_banked_up_to_a_cap() -> None:
    budget = LossBudget()
    for _ in range(100):
        budget.round(5, 1.0, 1.0, 1.0)
    assert budget.left == pytest.approx(budget.BANK + budget.FIRST + budget.SHARE * 500)


def test_a_loss_spends_it() -> None:
    budget = LossBudget()
    budget.round(1, 4.0, 1.0, 1.0)
    assert budget.left == pytest.approx(budget.FIRST - 3 + budget.SHARE)


def test_a_machine_that_slowed_down_is_no_loss_once_plain_steps_say_so() -> None:
    budget = LossBudget()
    for _ in range(3):
        budget.round(2, 4.0, 1.0, 2.0)
    assert budget.left < budget.FIRST
    budget.settle(before=1.0, expected=2.0, now=2.1)
    assert budget.left == pytest.approx(budget.FIRST + budget.SHARE * 6)


def test_a_dear_round_stays_a_loss_when_plain_steps_are_what_they_were() -> None:
    budget = LossBudget()
    for _ in range(3):
        budget.round(2, 4.0, 1.0, 2.0)
    budget.settle(before=1.0, expected=2.0, now=1.05)
    assert budget.left == pytest.approx(budget.FIRST + budget.SHARE * 6 - 6)
