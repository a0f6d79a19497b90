"""`specchat plan` through the command line: a prediction that says what it rests on."""

from __future__ import annotations

import json
from typing import Any

import pytest

PAIR = ("plan", "7B@4bit", "0.5B@4bit")


def report(specchat: Any, *argv: str) -> dict[str, Any]:
    outcome = specchat(*argv, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    found: dict[str, Any] = json.loads(outcome.out)
    return found


def test_it_predicts_a_gain_and_says_that_nothing_was_measured(specchat: Any) -> None:
    outcome = specchat(*PAIR, "--chip", "M4 Pro", "--acceptance", "0.8")
    assert outcome.code == 0
    assert outcome.out.startswith(
        "7B@4bit (4-bit) with 0.5B@4bit on M4 Pro: a prediction, nothing was measured.\n"
    )
    assert "Speculation should pay: about" in outcome.out
    assert "ml-explore/mlx#3852" in outcome.out
    assert "It does not know" in outcome.out


def test_it_predicts_a_loss_on_m1_with_its_cause(specchat: Any) -> None:
    outcome = specchat(*PAIR, "--chip", "m1pro", "--acceptance", "0.7")
    assert "Speculation should lose at every K: 2 rows are expected to cost 1.80 to 2.00" in outcome.out
    assert "The cause is verification." in outcome.out
    assert "an expectation from the source, not a measurement" in outcome.out


def test_it_says_so_when_it_cannot_tell(specchat: Any) -> None:
    found = report(specchat, "plan", "7B@4bit", "lookup", "--chip", "M2 Ultra")
    assert found["prediction"]["verdict"] == "cannot tell"
    assert found["sentence"].startswith("Whether speculation pays cannot be told (")
    assert any("Acceptance: 0.5 is assumed, between 0 and 0.95" in said for said in found["unknown"])
    assert not any("both models" in said for said in found["unknown"])


def test_unstated_acceptance_of_lookup_may_be_nothing(specchat: Any) -> None:
    """So there is no chip on which it pays for sure."""
    for chip in ("M1", "M4 Pro", "M3 Ultra"):
        found = report(specchat, "plan", "7B@4bit", "lookup", "--chip", chip)["prediction"]
        assert found["verdict"] != "pays"
        assert all(row["length"]["low"] == 1 for row in found["rows"])


def test_a_k_that_is_said_to_pay_pays_all_over_its_range(specchat: Any) -> None:
    """The likeliest speedup of a larger K may be higher, and its range reach below 1."""
    found = report(specchat, "plan", "3B@mxfp4", "0.1B@4bit", "--chip", "M1")["prediction"]
    assert found["verdict"] == "pays"
    lows = {row["k"]: row["speedup"]["low"] for row in found["rows"]}
    assert all(lows[k] > 1 for k in found["best"])
    fastest = max(found["rows"], key=lambda row: row["speedup"]["mid"])
    assert lows[fastest["k"]] < 1


def test_a_draft_model_may_be_named_as_a_draft_source(specchat: Any) -> None:
    named = report(specchat, "plan", "7B@4bit", "model:0.5B@4bit", "--chip", "M4")
    assert named == report(specchat, *PAIR, "--chip", "M4")


def test_json_has_sizes_ranges_and_reasons(specchat: Any) -> None:
    found = report(specchat, *PAIR, "--chip", "M4 Pro", "--acceptance", "0.8,0.6")
    assert found["target"]["bytes"] == pytest.approx(7e9 * 4.5 / 8)
    assert found["acceptance"] == [0.8, 0.6]
    first = found["prediction"]["rows"][0]
    assert first["length"] == {"low": 1.8, "mid": 1.8, "high": 1.8}
    assert first["speedup"]["low"] < first["speedup"]["mid"] < first["speedup"]["high"]
    assert found["rests_on"]


def test_a_curve_can_be_tried_out(specchat: Any) -> None:
    flat = report(specchat, *PAIR, "--chip", "M4", "--acceptance", "0.8", "--curve", "flat")
    serial = report(specchat, *PAIR, "--chip", "M4", "--acceptance", "0.8", "--curve", "serial")
    assert (flat["prediction"]["verdict"], serial["prediction"]["verdict"]) == ("pays", "loses")


def test_an_installed_model_is_measured_and_context_counts(specchat: Any) -> None:
    found = report(specchat, "plan", "builtin", "lookup", "--chip", "M4", "--context", "4096")
    target = found["target"]
    assert target["how"] == "by its files"
    read = target["bytes_a_token"] + 4096 * target["kv_bytes_a_token"]
    assert found["prediction"]["limit"] == pytest.approx(120e9 / read)


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        ((*PAIR,), 2, "A plan needs a chip. Name one with --chip: M1, "),
        ((*PAIR, "--chip", "M9"), 2, "Nothing is known of a chip 'M9'. Known: M1, "),
        ((*PAIR, "--chip", "M4", "--acceptance", "high"), 2, "--acceptance must be probabilities"),
        ((*PAIR, "--chip", "M4", "--acceptance", "1.2"), 2, "--acceptance must be probabilities"),
        ((*PAIR, "--chip", "M4", "--acceptance", "nan"), 2, "--acceptance must be probabilities"),
        ((*PAIR, "--chip", "M4", "--curve", "flt"), 2, "There is no curve 'flt'. Did you mean flat?"),
        (
            ("plan", "7B", "lookup", "--chip", "M4"),
            3,
            "does not tell how its weights are stored. Write a size",
        ),
        (("plan", "org/new", "lookup", "--chip", "M4"), 3, "does not tell how many parameters it has."),
        (("plan", "./no.gguf", "lookup", "--chip", "M4"), 3, "There is no file ./no.gguf."),
        (("plan", "7B@4bit", "--chip", "M4"), 2, "required"),
    ],
)
def test_wrong_use_is_one_sentence_with_the_next_step(
    specchat: Any, argv: tuple[str, ...], code: int, said: str
) -> None:
    outcome = specchat(*argv)
    assert (outcome.code, outcome.out) == (code, "")
    assert said in outcome.err
    assert len(outcome.err.splitlines()) == 1


def test_a_plan_loads_no_engine(start_specchat: Any) -> None:
    code = (
        "import sys; from app.cli import main; main(sys.argv[1:]);"
        "print(sorted({'mlx', 'mlx_lm', 'transformers', 'textual', 'numpy'} & set(sys.modules)))"
    )
    out, _ = start_specchat(*PAIR, "--chip", "M4", program=["-c", code]).communicate()
    assert out.splitlines()[-1] == "[]"
