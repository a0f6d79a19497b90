"""Predictions: arithmetic on ranges, and what is expected of each kind of chip and weights."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import curves, plan
from models.curves import Chip, expectation
from models.plan import Plan, acceptance_length, draft_cost, predict
from models.range import Range
from models.size import Size, size_of

TARGET, DRAFT = size_of("7B@4bit"), size_of("0.5B@4bit")


def chip(name: str) -> Chip:
    found = Chip.parse(name)
    assert found is not None
    return found


def planned(name: str, hazards: list[float] | None = None, curve: str | None = None, **sizes: Size) -> Plan:
    target = sizes.get("target", TARGET)
    return predict(
        target, sizes.get("draft", DRAFT), chip(name), expectation(chip(name), target, curve), hazards
    )


def test_length_is_one_and_the_survivals() -> None:
    assert acceptance_length([0.5], 3) == 1 + 0.5 + 0.25 + 0.125
    assert acceptance_length([0.9, 0.5], 3) == pytest.approx(1 + 0.9 + 0.45 + 0.225)
    assert acceptance_length([1.0], 4) == 5
    assert acceptance_length([0.0], 4) == 1


def test_a_free_verification_with_a_free_draft_brings_the_length() -> None:
    lookup = predict(TARGET, None, chip("M4 Pro"), expectation(chip("M4 Pro"), TARGET, "flat"), [0.8])
    for row in lookup.rows:
        assert row.rows_cost == Range(1, 1, 1)
        assert 0.95 < row.speedup.mid / row.length.mid < 1, "a round's own overhead is all that is lost"


def test_rows_one_by_one_never_pay() -> None:
    serial = planned("M4 Pro", [1.0], "serial")
    assert serial.verdict == "loses"
    assert serial.cause == "verification"
    assert all(row.break_even is None for row in serial.rows)


def test_a_draft_as_slow_as_its_target_never_pays_and_is_the_cause() -> None:
    found = planned("M4 Pro", [0.9], "flat", draft=TARGET)
    assert found.c.mid == 1
    assert (found.verdict, found.cause) == ("loses", "draft cost")


def test_wrong_drafts_are_the_cause() -> None:
    found = planned("M4 Pro", [0.05], "flat")
    assert (found.verdict, found.cause) == ("loses", "acceptance")


def test_the_break_even_is_where_the_speedup_is_one() -> None:
    row = planned("M4 Pro").rows[3]
    assert row.break_even is not None
    at = {r.k: r for r in planned("M4 Pro", [row.break_even]).rows}[row.k]
    assert at.speedup.mid == pytest.approx(1, abs=1e-3)


def test_plain_decoding_is_bound_by_bandwidth_and_by_active_weights() -> None:
    dense = planned("M4 Pro")
    assert dense.limit == pytest.approx(273e9 / TARGET.read)
    assert dense.plain.low < dense.plain.mid < dense.plain.high < dense.limit
    mixture = planned("M4 Pro", target=size_of("30B-A3B@4bit"))
    assert mixture.limit > dense.limit


def test_context_costs_where_its_size_is_known() -> None:
    known = dataclasses.replace(TARGET, kv_bytes=57_344)
    expected = expectation(chip("M4"), TARGET)
    short, long = (predict(known, DRAFT, chip("M4"), expected, context=n) for n in (0, 16_384))
    assert long.plain.mid < short.plain.mid


def test_small_drafts_are_not_as_cheap_as_their_bytes() -> None:
    c = draft_cost(DRAFT.read, TARGET.read, chip("M4 Max"))
    assert DRAFT.read / TARGET.read < c.low < c.mid < c.high


def test_unstated_acceptance_widens_the_range() -> None:
    stated, unstated = planned("M4 Pro", [0.7]).rows[1], planned("M4 Pro").rows[1]
    assert unstated.speedup.mid == stated.speedup.mid
    assert unstated.speedup.low < stated.speedup.low
    assert stated.speedup.high < unstated.speedup.high


@pytest.mark.parametrize("hazards", [[], [1.1], [-0.1], [float("nan")]])
def test_hazards_are_probabilities(hazards: list[float]) -> None:
    with pytest.raises(ValueError, match="probabilities"):
        planned("M4 Pro", hazards)


names = st.sampled_from(curves.chip_names())
texts = st.sampled_from(["7B@4bit", "70B@8bit", "1B@bf16", "30B-A3B@4bit", "20B@mxfp4", "3B@2bit", "4B@6bit"])


@given(name=names, target=texts, draft=texts, hazard=st.floats(0, 1))
def test_every_chip_and_kind_has_ordered_ranges(name: str, target: str, draft: str, hazard: float) -> None:
    found = planned(name, [hazard], target=size_of(target), draft=size_of(draft))
    assert found.rows
    assert set(found.best) <= {row.k for row in found.rows}
    for row in found.rows:
        for each in (row.rows_cost, row.length, row.speedup, found.plain, found.c):
            assert 0 < each.low <= each.mid * (1 + 1e-9)
            assert each.mid <= each.high * (1 + 1e-9)
        assert row.rows_cost.low >= 1
        assert row.speedup.high <= row.k + 1


@pytest.mark.parametrize("name", ["M1", "M1 Pro", "M1 Max", "M2", "M2 Pro", "M2 Max"])
def test_on_m1_and_m2_rows_are_expected_one_by_one_and_that_is_said(name: str) -> None:
    expected = expectation(chip(name), TARGET)
    five, six, seven = (expected.at(rows) for rows in (5, 6, 7))
    assert five is not None
    assert (five.low, five.high) == pytest.approx((4.2, 5))
    assert six == seven, "tiles from the sixth row on"
    assert expected.at(64) is None
    assert "not a measurement" in expected.notes[0]


def test_m2_ultra_spans_the_rule_and_its_one_report() -> None:
    four = expectation(chip("M2 Ultra"), TARGET).at(4)
    assert four is not None
    assert four.low < 1.51 < 3.4 < four.high


def test_a_published_curve_is_kept_to_and_kin_are_held_looser() -> None:
    own, kin = (expectation(chip(name), TARGET) for name in ("M4 Pro", "M4 Max"))
    ours, theirs = own.at(5), kin.at(5)
    assert ours is not None
    assert theirs is not None
    assert ours.low < 1.75 < ours.high
    assert theirs.low < ours.low < ours.high < theirs.high
    assert any("expected to be like M4 Pro" in note for note in kin.notes)


def test_beyond_the_last_published_row_nothing_is_claimed() -> None:
    assert expectation(chip("M4 Pro"), TARGET).at(11) is None
    assert max(row.k for row in planned("M3 Ultra").rows) == 7


def test_superseded_and_inflated_curves_are_not_used() -> None:
    assert not {"m4pro-4bit-old", "m3ultra-4bit-queued"} & curves.usable().keys()


def test_experts_may_be_read_row_by_row_everywhere() -> None:
    four = expectation(chip("M4 Pro"), size_of("30B-A3B@4bit")).at(4)
    assert four is not None
    assert four.high == 4


@pytest.mark.parametrize("text", ["7B@8bit", "7B@mxfp4", "7B@bf16", "7B@2bit"])
def test_what_stands_in_for_what_is_said(text: str) -> None:
    notes = " ".join(expectation(chip("M5"), size_of(text)).notes)
    assert "stand" in notes or "expected to be like" in notes


def test_every_published_number_has_its_source() -> None:
    for row in [*curves.data()["curves"], *curves.data()["decode_reports"]]:
        assert row["source"]
    assert curves.data()["bandwidth_source"]


def test_reports_of_plain_decoding_lie_inside_the_range() -> None:
    for row in curves.data()["decode_reports"]:
        seconds = plan.plain_seconds(size_of(row["model"]).read, chip(row["chip"]))
        assert seconds.low < 1 / row["tok_s"] < seconds.high, row
