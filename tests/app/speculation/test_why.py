"""`/why` says all that is known, nothing that is not, and never two things."""

from __future__ import annotations

from dataclasses import replace

import pytest
from paced import PARALLEL, SERIAL, Backend, table

from app.speculation.why import why
from app.thread.events import Snapshot
from mlx_spec.policy.auto import AutoK
from mlx_spec.policy.controller import FixedK, Off
from mlx_spec.verdict.diagnose import Diagnosis, Verdict

SNAPSHOT = Snapshot(
    0, 9.6, 0.7, 2.4, 0.4, 300, 64, "parked", "self", hazards=(0.81, 0.5, None), tested=(40, 32, 0)
)


def after(backend: Backend, controller: AutoK | FixedK, tokens: int) -> Snapshot:
    diagnosis = Diagnosis({"quantization": "affine 4-bit", "generation": 14})
    backend.run(controller, tokens, diagnosis)
    verdict = diagnosis.verdict(controller)
    return replace(SNAPSHOT, verdict=verdict, state=controller.state, k=controller.next_k())


def test_a_serialized_pair_is_told_with_costs_and_with_what_would_change_it() -> None:
    tables = table(SERIAL)
    now = after(Backend(tables, lambda position: 0.7), AutoK("s", [tables]), 400)
    told = why(now)
    assert now.verdict is not None
    first, doing, *rest = told.split("\n\n")
    assert first == now.verdict.sentence
    assert doing == "At this moment it is parked: K is 0.\nThe draft source is self."
    assert "Predicted: 0." in told
    assert "Verification, in forwards over one row, by rows: 1: 1.00, 2: " in told
    assert "Serial index: " in told
    assert (
        "70% of the drafted tokens were accepted: 2.40 tokens a round. That says nothing of whether" in told
    )
    assert "1: 81% of 40, 2: 50% of 32." in told
    changes = rest[-1].split("\n")
    assert changes[0] == "What would change it, by prediction:"
    assert changes[1].endswith("x if verifying more rows cost no more than one")


def test_a_pair_that_pays_has_its_interval() -> None:
    tables = table(PARALLEL)
    now = after(Backend(tables, lambda position: 0.85), AutoK("s", [tables]), 400)
    assert "plain decoding where it was used (95% interval " in why(now)
    assert "At this moment it speculates: K is " in why(now)


@pytest.mark.parametrize("tokens", range(1, 60, 7))
def test_what_it_says_of_this_moment_never_contradicts_the_verdict(tokens: int) -> None:
    backend = Backend(table(PARALLEL, c=0.1), lambda position: 0.02)
    now = after(backend, AutoK("s", [backend.table]), tokens)
    assert now.verdict is not None
    assert now.verdict.now == now.state
    if (now.verdict.kind, now.state) == ("measuring", "parked"):
        assert "For now it is parked" in why(now).split("\n\n")[0]


def test_what_is_not_known_is_not_said() -> None:
    verdict = Diagnosis().verdict(FixedK(4))
    told = why(Snapshot(4, None, None, None, None, 0, 0, "speculating", "lookup", verdict=verdict))
    assert "not enough rounds yet" in told
    assert "What rounds cost is not measured yet" in told
    assert "Predicted" not in told
    assert "None" not in told


def with_lifts(predicted: float | None, **lifts: float) -> str:
    """The last paragraph where that is predicted."""
    known = {"predicted": predicted, "k": 1, "round_tokens": 1.5, "round_cost": 2.0, "lifts": lifts}
    verdict = Verdict("parked", "verification", "It is parked.", known, "parked")
    return why(replace(SNAPSHOT, verdict=verdict)).split("\n\n")[-1]


def test_only_what_lifts_it_above_plain_decoding_and_above_itself_would_change_it() -> None:
    told = with_lifts(0.57, verification=1.82, draft=0.56, acceptance=1.31, overhead=1.004)
    assert told.split("\n") == [
        "What would change it, by prediction:",
        "- 1.82x if verifying more rows cost no more than one",
        "- 1.31x if every draft were accepted",
    ]
    assert with_lifts(1.5, verification=1.82, draft=1.45).count("\n") == 1
    assert with_lifts(None, acceptance=1.31).endswith("1.31x if every draft were accepted")


def test_where_nothing_alone_would_change_it_that_is_said() -> None:
    assert with_lifts(0.57, verification=0.82, draft=0.56, overhead=0.9).startswith("Nothing alone would")
    assert "would" not in with_lifts(1.5, verification=1.5)


def test_no_number_is_made_up_for_a_shorter_conversation() -> None:
    assert with_lifts(0.9, context=1.85, draft=1.2).split("\n")[1:] == [
        "- above 1x at the start of a conversation",
        "- 1.20x if drafting cost nothing",
    ]


def test_off_says_who_wants_it_so() -> None:
    verdict = Diagnosis().verdict(Off("K was set to 0", by_user=True))
    told = why(Snapshot(0, None, None, None, None, 0, 0, "off", "lookup", verdict=verdict))
    assert told.startswith(
        "Speculation is off: K was set to 0.\n\nIt is off: every step is plain decoding's."
    )
    assert told.endswith("/spec on, or another /draft, would bring it in.")


def test_before_there_is_a_model_nothing_is_known() -> None:
    assert "not loaded" in why(Snapshot(0, None, None, None, None, 0, 0, "off", None))
