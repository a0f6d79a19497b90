"""K chosen while running: what it settles on, how soon, and what finding it costs."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from paced import FLAT, PARALLEL, SERIAL, Backend, table

from mlx_spec.policy.auto import AutoK
from mlx_spec.policy.controller import FixedK, Off
from mlx_spec.policy.step import Step
from mlx_spec.policy.table import CostTable

CLIFF = {1: 1.0, 2: 1.05, 3: 1.1, 4: 1.15, 5: 2.4, 6: 2.5, 7: 2.6, 8: 2.7}
PRIORS = pytest.mark.parametrize("probed", [True, False], ids=["probed", "unprobed"])


def auto(backend: Backend, probed: bool = True) -> AutoK:
    return AutoK("s", [backend.table] if probed else [])


@PRIORS
def test_a_draft_slower_than_the_target_is_parked_at_a_cost_within_two_percent(probed: bool) -> None:
    """Case c21; a test of the verdict has the cause."""
    backend = Backend(table(PARALLEL, c=1.3), lambda position: 0.8)
    controller = auto(backend, probed)
    backend.run(controller, 2000)
    assert controller.state == "parked"
    assert backend.spent <= 1.02 * backend.position


@PRIORS
def test_copying_is_followed_up_and_prose_down_within_sixteen_rounds(probed: bool) -> None:
    """Case c22; the loss budget has a test of its own."""
    backend = Backend(table(PARALLEL), lambda position: 0.97 if position < 600 else 0.02)
    controller = auto(backend, probed)
    backend.run(controller, 600)
    assert controller.state == "speculating"
    assert backend.ks[-1] >= 4
    for _ in range(16):
        controller.observe(backend.step(controller.next_k()))
    assert controller.next_k() <= 1
    backend.run(controller, 600)
    assert controller.state == "parked"


def test_prose_that_turns_into_copying_is_followed_as_soon_as_it_is_tried() -> None:
    backend = Backend(table(PARALLEL), lambda position: 0.02 if position < 600 else 0.97)
    controller = auto(backend)
    backend.run(controller, 600)
    backend.ks.clear()
    backend.run(controller, 150)
    assert backend.ks[-1] >= 4


def test_a_witness_ends_the_wait_of_a_parked_source() -> None:
    backend = Backend(table(PARALLEL), lambda position: 0.02)
    controller = auto(backend)
    backend.run(controller, 400)
    for _ in range(8):
        controller.witness(7, 7)
        controller.observe(Step(0, 0, 1, 1.0))
    assert controller.next_k() > 0


def test_free_verification_of_good_drafts_takes_the_largest_k() -> None:
    backend = Backend(table(FLAT), lambda position: 0.9)
    controller = auto(backend)
    backend.run(controller, 800)
    assert Counter(backend.ks[-40:]).most_common(1)[0][0] == controller.most


def test_a_known_cliff_is_not_tried_where_it_cannot_pay() -> None:
    backend = Backend(table(CLIFF), lambda position: 0.6)
    controller = auto(backend)
    backend.run(controller, 1500)
    assert max(backend.ks) <= 3
    assert backend.spent < 0.8 * backend.position


def test_what_cannot_pay_if_every_draft_stood_is_never_tried() -> None:
    backend = Backend(table(SERIAL), lambda position: 0.99)
    backend.run(auto(backend), 1000)
    assert set(backend.ks) == {0}


@PRIORS
@pytest.mark.parametrize("verify", [SERIAL, PARALLEL], ids=["serial", "parallel"])
def test_nothing_is_lost_on_poor_drafts(probed: bool, verify: dict[int, float]) -> None:
    backend = Backend(table(verify, c=0.1), lambda position: 0.05)
    backend.run(auto(backend, probed), 2000)
    assert backend.spent <= 1.02 * backend.position


def test_a_machine_that_drifts_fourfold_changes_nothing() -> None:
    backend = Backend(
        table(PARALLEL), lambda position: 0.8, slowness=lambda time: 4.0 if time % 500 > 250 else 1.0
    )
    steady = Backend(table(PARALLEL), lambda position: 0.8)
    backend.run(auto(backend), 2000)
    steady.run(auto(steady), 2000)
    assert backend.spent == pytest.approx(steady.spent, rel=0.05)


def test_a_table_that_is_wrong_is_found_out() -> None:
    backend = Backend(table(SERIAL), lambda position: 0.9)
    controller = AutoK("s", [table(FLAT)])
    backend.run(controller, 1500)
    assert controller.state == "parked"
    assert backend.spent <= 1.03 * backend.position


@PRIORS
def test_a_clock_without_noise_is_believed(probed: bool) -> None:
    backend = Backend(table(PARALLEL), lambda position: 0.8, noise=0.0)
    backend.run(auto(backend, probed), 1000)
    assert backend.spent < 0.5 * backend.position


def test_a_source_that_seldom_proposes_is_asked_where_it_pays() -> None:
    backend = Backend(
        table(PARALLEL), lambda position: 0.95, proposes=lambda position: position // 40 % 2 == 0
    )
    controller = auto(backend)
    backend.run(controller, 1500)
    assert backend.spent < 0.75 * backend.position


@pytest.mark.parametrize("verify", [FLAT, PARALLEL], ids=["flat", "parallel"])
def test_the_baseline_is_measured_in_blocks_that_cost_little(verify: dict[int, float]) -> None:
    backend = Backend(table(verify), lambda position: 0.8)
    controller = auto(backend)
    backend.run(controller, 4000)
    plain = "".join("p" if k == 0 else "r" for k in backend.ks).strip("r")
    blocks = [run for run in plain.split("r") if run]
    assert blocks
    assert all(8 <= len(block) <= 16 for block in blocks)
    assert len("".join(blocks)) <= 0.015 * backend.spent


def test_statistics_are_kept_by_source() -> None:
    backend = Backend(table(PARALLEL), lambda position: 0.9)
    controller = AutoK("good", [backend.table])
    backend.run(controller, 300)
    good = controller.record
    controller.use("other", [backend.table])
    assert controller.record.hazards.rates != good.hazards.rates
    controller.use("good")
    assert controller.record is good


def test_what_was_learned_survives_json_and_shortens_the_next_start() -> None:
    backend = Backend(table(PARALLEL), lambda position: 0.9)
    controller = AutoK("s")
    backend.run(controller, 600)
    again = AutoK("s")
    again.restore(json.loads(json.dumps(controller.as_dict())))
    assert again.record.hazards.rates == controller.record.hazards.rates
    assert again.record.costs.ratios == pytest.approx(controller.record.costs.ratios)
    later = Backend(table(PARALLEL), lambda position: 0.9, seed=9)
    later.run(again, 100)
    first = [next(k for k in ks if k) for ks in (backend.ks, later.ks)]
    assert first[0] < 4 <= first[1]


def test_without_measured_costs_nothing_is_predicted() -> None:
    controller = AutoK("s")
    assert controller.best()[1] is None
    backend = Backend(table(SERIAL), lambda position: 0.3)
    backend.run(controller, 100)
    k, value = controller.best()
    assert k in set(backend.ks)
    assert value == pytest.approx((1 - 0.3 ** (k + 1)) / 0.7 / table(SERIAL).round(k), rel=0.3)


def test_asking_twice_changes_nothing() -> None:
    backend = Backend(table(PARALLEL), lambda position: 0.7)
    controller = auto(backend)
    for _ in range(200):
        assert controller.next_k() == controller.next_k()
        controller.observe(backend.step(controller.next_k()))


def test_a_fixed_k_stays_and_measures() -> None:
    controller = FixedK(3, [table()])
    backend = Backend(table(), lambda position: 0.5)
    backend.run(controller, 300)
    assert set(backend.ks) == {3}
    assert controller.state == "speculating"
    assert controller.record.hazards.rates[0] == pytest.approx(0.5, abs=0.15)


def test_off_says_why() -> None:
    controller = Off("K was set to 0", by_user=True)
    controller.begin(5)
    controller.observe(Step(0, 0, 1, 1.0))
    assert (controller.next_k(), controller.state, controller.reason) == (0, "off", "K was set to 0")
    assert controller.record is None


def test_a_deep_table_decides_at_depth() -> None:
    tables = [table(PARALLEL, depth=0), CostTable(4000, 1.0, SERIAL)]
    controller = AutoK("s", tables)
    controller.begin(4000)
    assert (controller.best()[1] or 2) < 1
    controller.begin(10)
    assert (controller.best()[1] or 0) > 1
