"""What is concluded from records whose truth is known, and what makes them doubtful."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from timed import CALM, design, record

from bench.conclusions import conclusions
from bench.design import Way, sweep_ways
from bench.findings import Findings, complete_blocks, find
from bench.record import Record

GAIN = {"loop": 0.9, "lookup K=1": 1.2, "lookup K=2": 1.5, "lookup auto": 1.45}
NULL = {"loop": 1.0}
LOSS = {"loop": 0.9, "lookup K=1": 0.7, "lookup K=2": 0.5, "lookup auto": 0.9}


def found(source: Record) -> Findings:
    findings = find(source)
    assert findings is not None
    return findings


def test_a_clear_winner_is_recommended() -> None:
    findings = found(record(GAIN, design(prompts=8)))
    assert [way.name for way in findings.best] == ["lookup K=2"]
    assert conclusions(findings)[0] == "lookup K=2 is the fastest."
    assert findings.row("lookup K=2").speedup.value == pytest.approx(1.5, rel=0.02)


def test_of_several_that_cannot_be_told_apart_the_smallest_is_recommended() -> None:
    findings = found(record({"lookup K=1": 1.5, "lookup K=2": 1.505}, design(prompts=8), noise=0.05))
    assert [way.name for way in findings.best] == ["lookup K=1", "lookup K=2"]
    assert findings.recommended == Way("lookup K=1", "lookup", 1)
    assert "The smallest, lookup K=1, is recommended." in conclusions(findings)[0]


def test_a_null_sweep_recommends_plain_decoding() -> None:
    findings = found(record(NULL, design(prompts=8), noise=0.03))
    assert findings.recommended == Way("plain")
    assert conclusions(findings)[0].startswith("No K is shown to be faster than plain decoding")


def test_when_all_lose_no_k_pays() -> None:
    assert conclusions(found(record(LOSS)))[0] == "Plain decoding is the fastest: no K pays here."


def test_the_pick_of_one_half_is_reported_on_the_other() -> None:
    findings = found(record(GAIN, design(prompts=8)))
    assert [half.picked for half in findings.halves] == ["lookup K=2"] * 2
    assert all(half.speedup.low < 1.5 < half.speedup.high for half in findings.halves)
    assert found(record(GAIN, design(prompts=7))).halves == []


@pytest.mark.parametrize(
    ("speed", "noise", "says"),
    [
        (1.0, 0.001, "is not slower than plain decoding by more than 2% (at least"),
        (0.99, 0.05, "is not shown to be within 2% of plain decoding"),
        (0.9, 0.001, "is slower than plain decoding by more than 2% (at most"),
    ],
)
def test_auto_keeps_its_promise_breaks_it_or_is_not_shown_to(speed: float, noise: float, says: str) -> None:
    findings = found(record({"lookup auto": speed}, design(prompts=6), noise=noise))
    assert f"lookup auto {says}" in conclusions(findings)[-1]


def test_rows_have_acceptance_by_position_and_memory() -> None:
    row = found(record(GAIN)).row("lookup K=2")
    assert (row.acceptance_rate, row.acceptance_length) == (0.6, 2.2)
    assert row.by_position == [(40, 50), (20, 40)]
    assert row.draft_bytes == 1000
    assert row.same == (5, 5)


def test_v_serial_index_and_c_come_from_the_split_rounds() -> None:
    findings = found(record(GAIN))
    assert findings.curve == pytest.approx({1: 1.0, 2: 1.2, 3: 1.4})
    row = findings.row("lookup K=2")
    assert (row.verify_cost, row.serial_index) == pytest.approx((1.4, 0.2))
    assert row.c == pytest.approx(0.2)
    assert findings.row("plain").parts is None


def test_the_predicted_speedup_adds_up_rounds_by_their_typical_parts() -> None:
    findings = found(record({"loop": 0.8}, noise=0.0))
    # 20 tokens in 10 rounds of 0.19 s, where the bare loop has rounds of 0.11 s and 0.8 of the speed.
    assert findings.row("lookup K=2").predicted == pytest.approx(0.8 * 20 * 0.11 / (10 * 0.19))
    assert findings.row("plain").predicted is None


def test_another_answer_than_plains_is_counted() -> None:
    source = record(GAIN)
    source.samples = [
        replace(sample, digest="other") if sample.way == "lookup K=1" and sample.prompt == "p0" else sample
        for sample in source.samples
    ]
    assert found(source).row("lookup K=1").same == (4, 5)
    assert found(source).row("lookup K=2").same == (5, 5)


def test_sampled_prompts_need_not_agree() -> None:
    plan = design()
    plan = replace(plan, prompts=[(prompt, group, False) for prompt, group, _ in plan.prompts])
    assert found(record(GAIN, plan)).row("lookup K=1").same is None


def test_ttft_counts_only_runs_that_read_their_prompt() -> None:
    source = record(GAIN)
    source.samples = [
        replace(s, arrivals=[at + 9 for at in s.arrivals]) if s.place else s for s in source.samples
    ]
    assert found(source).baseline.ttft_s == pytest.approx(5.0)
    source.samples = [
        replace(s, counts=replace(s.counts, reused=5)) if s.place else s for s in source.samples
    ]
    assert found(source).baseline.ttft_s == pytest.approx(0.5)


def test_classes_are_told_apart() -> None:
    findings = found(record(GAIN, design(prompts=8)))
    assert set(findings.groups) == {"code", "chat"}
    assert findings.groups["chat"]["lookup K=2"].value == pytest.approx(1.5, rel=0.05)


def test_only_complete_blocks_count() -> None:
    source = record(GAIN)
    source.samples.pop()
    assert len(complete_blocks(source)) == 4
    assert "1 block was left out" in found(source).cautions[-1]
    source.samples = source.samples[:3]
    assert find(source) is None


def test_peers_are_compared_with_their_like_and_with_auto() -> None:
    ways = [
        Way("mlx-lm", None, 0, "mlx-lm"),
        Way("mlx-lm self K=2", "self", 2, "mlx-lm"),
        Way("specchat", None, 0),
        Way("specchat self K=2", "self", 2),
        Way("specchat lookup auto", "lookup", "auto"),
    ]
    speed = {"mlx-lm self K=2": 0.5, "specchat self K=2": 0.75}
    findings = found(record(speed, design(ways, bench="peers")))
    pairs = {(pair.ours, pair.theirs): pair.ratio.value for pair in findings.pairs}
    assert pairs["specchat self K=2", "mlx-lm self K=2"] == pytest.approx(1.5, rel=0.02)
    assert set(pairs) == {
        ("specchat", "mlx-lm"),
        ("specchat lookup auto", "mlx-lm"),
        ("specchat self K=2", "mlx-lm self K=2"),
        ("specchat lookup auto", "mlx-lm self K=2"),
    }
    assert findings.best == []
    assert "than mlx-lm by more than" in conclusions(findings)[-1]


def slow_ends(source: Record) -> None:
    last = len(source.design.ways)
    source.samples = [
        replace(s, arrivals=[1.2 * at for at in s.arrivals]) if s.place == last else s for s in source.samples
    ]


def slow_first(source: Record) -> None:
    first = source.samples[0]
    source.samples[0] = replace(first, arrivals=[1.2 * at for at in first.arrivals])


def outlier(source: Record) -> None:
    source.samples[2] = replace(source.samples[2], arrivals=[4 * at for at in source.samples[2].arrivals])


def busy(source: Record) -> None:
    source.conditions[0] = {**CALM, "load": 3.5}


def on_battery(source: Record) -> None:
    source.conditions.append({**CALM, "battery": True, "low_power": True})


def hot(source: Record) -> None:
    source.conditions.append({**CALM, "speed_limit": 70})


def unsettled(source: Record) -> None:
    source.paces[0] = replace(source.paces[0], stable=False)


def interrupted(source: Record) -> None:
    source.samples[2] = replace(source.samples[2], session=1)


@pytest.mark.parametrize(
    ("disturb", "says"),
    [
        (slow_ends, "The machine got slower within blocks: the baseline at their ends took 20% more time"),
        (slow_first, "The very first run was "),
        (outlier, "1 run stands far from the others of the same way"),
        (busy, "Other programs were busy at the start (load 3.5)"),
        (on_battery, "It ran on battery"),
        (on_battery, "Low-power mode was on"),
        (hot, "Heat limited the processor to 70% of its speed"),
        (unsettled, "The speed had not settled"),
        (interrupted, "A block was interrupted and went on later"),
    ],
)
def test_what_disturbs_a_sweep_is_said(disturb: Callable[[Record], None], says: str) -> None:
    source = record(GAIN)
    assert found(source).cautions == []
    disturb(source)
    assert any(sentence.startswith(says) for sentence in found(source).cautions)


def test_short_answers_and_few_prompts_are_said() -> None:
    short = found(record(GAIN, tokens=10)).cautions
    assert short == ["30 of 30 runs have fewer than 16 timed tokens: their speed is rough."]
    few = found(record(GAIN, design(prompts=3)))
    assert few.cautions == ["3 prompts cannot bound a speedup: an interval needs at least 4."]
    assert not few.row("lookup K=1").speedup.bounded
    assert few.recommended == Way("plain")


def test_parts_that_rest_on_a_few_rounds_are_called_rough() -> None:
    source = record(GAIN)
    source.splits = [split for i, split in enumerate(source.splits) if split.way != "loop" or i < 4]
    assert found(source).cautions == [
        "Fewer than 5 whole rounds of loop were split: V(K+1), c and the time of their parts are rough."
    ]


def test_a_way_that_never_drafted_is_named() -> None:
    source = record(GAIN)
    for i, sample in enumerate(source.samples):
        if sample.way == "lookup K=1":
            source.samples[i] = replace(sample, counts=replace(sample.counts, drafted=0))
    said = "Nothing was drafted at lookup K=1: any speedup there comes from something else."
    assert said in found(source).cautions


def test_all_fixed_ways_of_all_sources_are_candidates() -> None:
    plan = design(sweep_ways(["lookup", "self"], [1, 2]), prompts=8)
    findings = found(record({"self K=2": 1.5, "lookup K=1": 1.2}, plan))
    assert [way.name for way in findings.best] == ["self K=2"]
