"""Each cause is found on a backend that has it and no other, and a verdict holds while nothing changes."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from paced import FLAT, PARALLEL, SERIAL, Backend, table

from mlx_spec.policy.auto import AutoK
from mlx_spec.policy.controller import FixedK, Off
from mlx_spec.policy.step import Step
from mlx_spec.policy.table import CostTable
from mlx_spec.verdict.diagnose import Diagnosis, Verdict

FOUR_BIT = dict(enumerate((1.0, 1.6, 3.2, 4.1, 4.6, 6.5, 7.0, 7.5), 1))
CLIFF = dict(enumerate((1.0, 1.86, 1.9, 1.92, 1.94, 1.96, 1.98, 2.0), 1))
DEVICE = {"quantization": "affine 4-bit", "generation": 14}


def judged(backend: Backend, controller: AutoK | FixedK, tokens: int = 400, **device: object) -> Verdict:
    diagnosis = Diagnosis(device)
    backend.run(controller, tokens, diagnosis)
    return diagnosis.verdict(controller)


def auto(tables: CostTable, hazard: float, most: int = 7) -> Verdict:
    backend = Backend(tables, lambda position: hazard)
    return judged(backend, AutoK("s", [tables], most), **DEVICE)


@pytest.mark.parametrize(
    ("cause", "tables", "hazard", "words"),
    [
        ("verification", table(FOUR_BIT), 0.7, "Verification is serialized: 5 rows cost 4.6x one row"),
        ("cliff", table(CLIFF), 0.5, "Verification has a cliff: row 2 raises its cost from 1.0x to 1.9x"),
        ("draft", table(PARALLEL, c=1.3), 0.8, "The draft is too slow: a drafted token takes 1.30x a row"),
        ("acceptance", table(PARALLEL, c=0.1), 0.03, "Too few drafts are accepted: a round of K="),
        ("overhead", table(FLAT, overhead=4.0), 0.7, "a round's own work weighs 4.0x one row"),
    ],
)
def test_each_cause_alone_is_named_with_its_number(
    cause: str, tables: CostTable, hazard: float, words: str
) -> None:
    verdict = auto(tables, hazard, most=2 if cause == "cliff" else 7)
    assert (verdict.kind, verdict.cause) == ("parked", cause)
    assert words in verdict.sentence
    assert "so it is off" in verdict.sentence
    json.dumps(verdict.facts)


def test_a_wait_that_a_pipeline_hides_is_part_of_a_rounds_own_work() -> None:
    hidden = CostTable(0, 0.4, {1: 1.0, 8: 1.4})
    assert hidden.unhidden == pytest.approx(0.6)
    assert CostTable(0, 1.1, {1: 1.0}, overhead=0.2).unhidden == pytest.approx(0.2)


def test_a_context_that_is_too_long_is_the_cause_where_a_short_one_would_pay() -> None:
    tables = [table(PARALLEL, depth=100), CostTable(8000, 1.0, {m: 0.7 * v + 0.3 for m, v in SERIAL.items()})]
    backend = Backend(tables[1], lambda position: 0.7, position=8000)
    controller = AutoK("s", tables)
    controller.begin(8000)
    verdict = judged(backend, controller)
    assert (verdict.kind, verdict.cause) == ("parked", "context")
    assert "The context is too long: at 8" in verdict.sentence
    assert "at 100 it costs" in verdict.sentence


def test_a_draft_as_slow_as_its_target_is_the_cause_and_serialization_stays_a_fact() -> None:
    verdict = auto(table(FOUR_BIT, c=1.0), 1.0)
    assert (verdict.kind, verdict.cause) == ("parked", "draft")
    assert "Verification is serialized besides: 5 rows cost 4.6x one row." in verdict.sentence
    assert verdict.facts["serialized"]
    assert verdict.facts["serial_index"] == pytest.approx(0.9)


@pytest.mark.parametrize("tables", [table(SERIAL), table(FOUR_BIT, c=1.0)], ids=["rows", "draft"])
def test_costs_that_rule_out_every_k_are_a_verdict_at_once(tables: CostTable) -> None:
    verdict = judged(Backend(tables, lambda position: 1.0), AutoK("s", [tables]), tokens=1)
    assert verdict.kind == "parked"


@pytest.mark.parametrize("tables", [[table(PARALLEL)], []], ids=["costs that may pay", "no costs"])
def test_what_measured_costs_do_not_rule_out_is_measured_for_a_while(tables: list[CostTable]) -> None:
    backend = Backend(table(FOUR_BIT), lambda position: 0.0)
    assert judged(backend, AutoK("s", tables), tokens=4).kind == "measuring"


def test_the_device_explains_and_never_decides() -> None:
    tables = table(FOUR_BIT)
    backends = [Backend(tables, lambda position: 0.7) for _ in range(2)]
    told = judged(backends[0], AutoK("s", [tables]), **DEVICE)
    untold = judged(backends[1], AutoK("s", [tables]))
    assert "(affine 4-bit, GPU generation 14)" in told.sentence
    assert "mxfp4" in told.sentence
    assert "mxfp4" not in untold.sentence
    assert (told.kind, told.cause, told.facts) == (untold.kind, untold.cause, untold.facts)


def test_a_source_with_nothing_to_say_is_an_acceptance_problem_in_its_own_words() -> None:
    backend = Backend(
        table(FLAT, overhead=0.5), lambda position: 0.6, proposes=lambda position: position % 10 == 0
    )
    verdict = judged(backend, AutoK("s", [backend.table]))
    assert (verdict.kind, verdict.cause) == ("parked", "acceptance")
    assert "has something to propose in" in verdict.sentence


def test_nothing_is_claimed_of_drafts_that_never_were() -> None:
    backend = Backend(table(PARALLEL), lambda position: 0.6, proposes=lambda position: False)
    verdict = judged(backend, AutoK("s", [backend.table]))
    assert not verdict.facts["tested"]
    assert "gives" not in verdict.sentence
    assert "brought no gain" not in verdict.sentence


def test_what_pays_is_said_with_its_interval_and_without_a_cause() -> None:
    verdict = auto(table(PARALLEL), 0.85)
    assert (verdict.kind, verdict.cause) == ("paying", None)
    speedup = verdict.facts["speedup"]
    assert 1 < speedup["low"] < speedup["value"] < speedup["high"]
    assert verdict.sentence.startswith(f"Speculation pays: {speedup['value']:.2f}x plain decoding (")


def test_a_fixed_k_that_loses_is_warned_of_with_what_was_measured() -> None:
    backend = Backend(table(FOUR_BIT), lambda position: 0.7)
    verdict = judged(backend, FixedK(4, [backend.table]))
    assert (verdict.kind, verdict.cause) == ("slower", "verification")
    value = verdict.facts["speedup"]["value"]
    assert value == pytest.approx(2.77 / 4.62, rel=0.15)
    assert f"Speculation at K=4 runs at {value:.2f}x plain decoding (" in verdict.sentence


def test_a_fixed_k_that_loses_much_is_warned_of_within_a_short_answer() -> None:
    backend = Backend(table(FOUR_BIT), lambda position: 0.6)
    verdict = judged(backend, FixedK(4, [backend.table]), tokens=40)
    assert len(backend.ks) <= 24
    assert verdict.kind == "slower"
    assert verdict.facts["speedup"]["high"] < 1


def test_a_fixed_k_that_pays_is_not_warned_of() -> None:
    backend = Backend(table(PARALLEL), lambda position: 0.85)
    assert judged(backend, FixedK(4, [backend.table])).kind == "paying"


def test_without_a_probe_there_is_a_verdict_and_no_invented_cause() -> None:
    backend = Backend(table(FOUR_BIT), lambda position: 0.3)
    verdict = judged(backend, AutoK("s"))
    assert (verdict.kind, verdict.cause) == ("parked", None)
    assert "costs" in verdict.sentence


@pytest.mark.parametrize("controller", [AutoK("s"), FixedK(4)], ids=["auto", "fixed"])
def test_without_measured_costs_no_number_is_made_up(controller: AutoK | FixedK) -> None:
    facts = Diagnosis().verdict(controller).facts
    assert (facts["predicted"], facts["round_cost"]) == (None, None)


def test_plain_steps_alone_predict_nothing() -> None:
    controller, diagnosis = AutoK("s"), Diagnosis()
    for _ in range(40):
        controller.record.hazards.observe(1, 0)
    for _ in range(30):
        controller.observe(Step(0, 0, 1, 1.0))
        diagnosis.observe(controller)
    verdict = diagnosis.verdict(controller)
    assert (verdict.kind, verdict.facts["predicted"]) == ("parked", None)
    assert verdict.sentence.startswith("What a round costs here is not measured.")


def test_a_source_that_has_too_much_to_read_is_said_to() -> None:
    tables = table(PARALLEL, c=0.1)
    controller, diagnosis = AutoK("s", [tables]), Diagnosis()
    controller.begin(2000, 1999)
    for n in range(20):
        controller.observe(Step(0, 0, 1, 1.0, 2000 + n, behind=2000 + n))
        diagnosis.observe(controller)
    verdict = diagnosis.verdict(controller)
    assert (verdict.kind, verdict.cause) == ("parked", "draft")
    assert "would first have to read 2019 tokens" in verdict.sentence


def test_off_has_the_reason_of_whoever_wants_it() -> None:
    by_user = Diagnosis().verdict(Off("K was set to 0", by_user=True))
    by_pair = Diagnosis().verdict(Off("its tokens differ"))
    assert (by_user.kind, by_user.cause) == ("off", "user")
    assert (by_pair.cause, by_pair.sentence) == ("pair", "Speculation is off: its tokens differ.")


def test_what_the_controller_does_now_is_part_of_the_sentence_where_the_verdict_is_another() -> None:
    """A pair that is parked after few steps is still being measured: one sentence has both."""
    backend = Backend(table(PARALLEL, c=0.1), lambda position: 0.02)
    controller, diagnosis = AutoK("s", [backend.table]), Diagnosis()
    sentences = {}
    for _ in backend.play(controller, 120, diagnosis):
        verdict = diagnosis.verdict(controller)
        assert verdict.now == controller.state
        sentences.setdefault((verdict.kind, verdict.now), verdict.sentence)
    resting = sentences["measuring", "parked"]
    assert resting.startswith("Measuring whether speculation pays.")
    assert "For now it is parked but for a try now and then" in resting
    assert "off but for a try now and then" in sentences["parked", "parked"]


def test_a_pair_that_pays_and_rests_on_this_text_says_both() -> None:
    backend = Backend(table(PARALLEL, c=0.1), lambda position: 0.95 if position < 600 else 0.02)
    controller, diagnosis = AutoK("s", [backend.table]), Diagnosis()
    for _ in backend.play(controller, 900, diagnosis):
        verdict = diagnosis.verdict(controller)
        if (verdict.kind, verdict.now) == ("paying", "parked"):
            assert verdict.sentence.startswith("Speculation pays where it is used: ")
            assert "For now it is parked" in verdict.sentence
            return
    raise AssertionError("it never rested while it paid")


def test_a_pair_that_no_k_suits_is_not_said_to_be_tried() -> None:
    tables = table(FOUR_BIT, c=1.0)
    verdict = judged(Backend(tables, lambda position: 1.0), AutoK("s", [tables]), tokens=1)
    assert not verdict.facts["tries"]
    assert "so it is off." in verdict.sentence


def test_at_first_it_is_measuring() -> None:
    assert Diagnosis().verdict(AutoK("s", [table()])).kind == "measuring"
    assert Diagnosis().verdict(FixedK(4)).sentence == "Measuring whether speculation pays."


@pytest.mark.parametrize("hazard", [0.1, 0.4, 0.5, 0.6, 0.9])
@pytest.mark.parametrize("verify", [FOUR_BIT, CLIFF, PARALLEL], ids=["serial", "cliff", "parallel"])
@pytest.mark.parametrize("c", [0.05, 0.3])
def test_steady_conditions_change_the_verdict_twice_at_most(
    hazard: float, verify: dict[int, float], c: float
) -> None:
    backend = Backend(table(verify, c), lambda position: hazard)
    controller, diagnosis = AutoK("s", [backend.table]), Diagnosis()
    seen = []
    for n, _ in enumerate(backend.play(controller, 2000, diagnosis)):
        if n % 10:
            continue
        verdict = diagnosis.verdict(controller)
        seen.append((verdict.kind, verdict.cause))
    settled = [one for one in seen if one[0] != "measuring"]
    assert sum(a != b for a, b in pairwise(settled)) <= 2


def test_a_lookup_that_gained_and_has_nothing_to_propose_for_now_is_no_bad_news() -> None:
    backend = Backend(table(PARALLEL), lambda position: 0.95, proposes=lambda position: position < 400)
    controller, diagnosis = AutoK("s", [backend.table]), Diagnosis()
    backend.run(controller, 400, diagnosis)
    backend.run(controller, 600, diagnosis)
    found = diagnosis.verdict(controller)
    assert (found.kind, found.warns) == ("paying", False)
    assert "pays where it is used" in found.sentence


def test_a_source_that_never_had_a_proposal_is_explained_and_not_warned_of() -> None:
    backend = Backend(table(PARALLEL), lambda position: 0.5, proposes=lambda position: False)
    controller, diagnosis = AutoK("s", [backend.table]), Diagnosis()
    backend.run(controller, 400, diagnosis)
    found = diagnosis.verdict(controller)
    assert (found.kind, found.warns) == ("parked", False)
    assert "nothing to propose" in found.sentence


def test_a_text_that_changes_its_nature_changes_the_verdict() -> None:
    backend = Backend(table(PARALLEL, c=0.1), lambda position: 0.95 if position < 600 else 0.02)
    controller, diagnosis = AutoK("s", [backend.table]), Diagnosis()
    backend.run(controller, 600, diagnosis)
    assert diagnosis.verdict(controller).kind == "paying"
    backend.run(controller, 300, diagnosis)
    found = diagnosis.verdict(controller)
    assert (found.kind, found.warns) == ("parked", True)
