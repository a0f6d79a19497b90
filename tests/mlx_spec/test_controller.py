"""Choosing K by trial, on a virtual clock."""

from __future__ import annotations

from mlx_spec.policy.controller import FixedK, Step, TrialK


def run(controller: TrialK, tokens: int, plain: float, round_cost: float, emitted: int) -> float:
    """Decode `tokens` on a virtual clock; returns the seconds spent."""
    spent, done = 0.0, 0
    while done < tokens:
        k = controller.next_k()
        cost, gain = (round_cost, emitted) if k else (plain, 1)
        controller.observe(Step(k, k, gain, cost))
        spent, done = spent + cost, done + gain
    return spent


def test_a_fixed_k_is_kept():
    controller = FixedK(3)
    controller.observe(Step(3, 3, 1, 99.0))
    assert (controller.next_k(), controller.state) == (3, "speculating")


def test_k_zero_is_off_for_a_reason():
    controller = FixedK(0, "K was set to 0")
    assert (controller.state, controller.reason) == ("off", "K was set to 0")


def test_it_measures_plain_decoding_before_it_speculates():
    controller = TrialK()
    assert (controller.next_k(), controller.state) == (0, "measuring")
    run(controller, 11, plain=1.0, round_cost=2.0, emitted=3)
    assert (controller.next_k(), controller.state, controller.reason) == (TrialK.K, "speculating", None)


def test_a_pair_that_pays_keeps_speculating():
    controller = TrialK()
    run(controller, 600, plain=1.0, round_cost=2.0, emitted=3)
    assert controller.state == "speculating"


def test_a_pair_that_does_not_pay_is_parked_and_says_so():
    controller = TrialK()
    run(controller, 60, plain=1.0, round_cost=5.0, emitted=2)
    assert controller.state == "parked"
    assert "0.40x" in (controller.reason or "")
    assert controller.next_k() == 0


def test_trials_that_fail_grow_rare():
    controller = TrialK()
    spent = run(controller, 4000, plain=1.0, round_cost=5.0, emitted=1)
    assert spent / 4000 < 1.06


def test_a_parked_pair_is_tried_again_when_it_may_pay():
    controller = TrialK()
    run(controller, 60, plain=1.0, round_cost=5.0, emitted=1)
    assert controller.state == "parked"
    run(controller, 400, plain=1.0, round_cost=1.5, emitted=4)
    assert controller.state == "speculating"


def test_rounds_without_a_proposal_are_no_evidence():
    controller = TrialK()
    run(controller, 11, plain=1.0, round_cost=1.0, emitted=2)
    for _ in range(100):
        controller.observe(Step(0, 0, 1, 50.0))
    run(controller, 40, plain=1.0, round_cost=1.0, emitted=2)
    assert controller.state == "speculating"
