"""Counting rounds of three rules on a tiny pair."""

from __future__ import annotations

import json
from typing import Any

import mlx.core as mx
import pytest
from readable import PROMPT, READABLE, without_ends
from tiny import tiny_loaded

from bench.studies import acceptance as bench
from bench.studies import overhead
from bench.studies.rates import rate, rate_ratio
from mlx_spec import EngineOptions, Sampling, drafts
from mlx_spec.law import acceptance
from mlx_spec.law.sampling import Sampler


@pytest.fixture(scope="module")
def target() -> Any:
    return without_ends(tiny_loaded("llama", vocab=READABLE, seed=6))


def test_a_draft_that_is_the_target_is_told_from_a_draft(target: Any) -> None:
    source = drafts.model_source(target, target, EngineOptions())
    overlap = bench.Overlap()
    rounds = list(bench.ours(target, source, PROMPT, 3, 24, seed=1, rule=overlap.watch(acceptance.block)))
    assert rounds == [(3, 3)] * len(rounds)
    assert 1 - min(overlap.rejected) < bench.SAME
    assert sum(overlap.compared) < sum(overlap.rejected)


def test_mlx_lms_rounds_are_read_off_its_tokens(target: Any) -> None:
    mx.random.seed(0)
    rounds = list(bench.mlx_lms(target, target, PROMPT, 3, 200))
    assert 20 < len(rounds) <= 200
    assert {drafted for drafted, _ in rounds} == {3}
    # No whole round is lost: the emitted tokens add up, but for the last one, which the limit cut.
    assert 200 - 4 <= sum(accepted + 1 for _, accepted in rounds) <= 200


def test_the_command_says_when_a_draft_is_the_target(
    target: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "load", lambda ref, dtype=None: target)
    monkeypatch.setattr(bench, "render_chat", lambda tokenizer, messages: PROMPT)
    assert bench.main(["--drafts", "as-stored", "--prompts", "1", "--k", "2"]) == 0
    *table, line = capsys.readouterr().out.splitlines()
    assert "an upper bound, not a draft" in table[-1]
    (found,) = json.loads(line)["drafts"].values()
    assert found["first_token"]["is_the_target"]
    assert found["rules"]["block"]["acceptance_rate"]["value"] == 1


def test_rates_are_ratios_of_sums_with_an_interval() -> None:
    found = rate([1, 2, 3, 0] * 20, [4] * 80)
    assert found.value == pytest.approx(6 / 16)
    assert found.low < 6 / 16 < found.high
    ratio = rate_ratio(([2] * 9, [4] * 9), ([1] * 9, [4] * 9))
    assert (ratio.value, ratio.low, ratio.high) == (2, 2, 2)
    unbounded = rate_ratio(([2] * 9, [4] * 9), ([0] * 8 + [1], [4] * 9))
    assert (unbounded.value, unbounded.high) == (18, float("inf"))


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(temperature=1.0, seed=1)])
def test_a_round_is_split_by_a_clock_and_rolled_back(
    target: Any, sampling: Sampling, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overhead, "render_chat", lambda tokenizer, messages: PROMPT)
    ticks = iter(range(1000))
    rounds = overhead.Rounds(target, 2, clock=lambda: float(next(ticks)))
    for _ in range(2):
        split = rounds.one(Sampler(sampling))
        assert (split.drafting, split.drawing, split.forward, split.judging) == (2, 2, 1, 1)
    shares = overhead._shares([split, split])
    assert shares["lookup"]["value"] == 1 / 2
    assert shares["model"]["value"] == 3 / 6
