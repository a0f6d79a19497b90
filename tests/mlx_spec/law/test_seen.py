"""What a round tells of its drafts is what the target's own rows say, under every kind of sampling."""

from __future__ import annotations

import io
import json
from dataclasses import asdict
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from tiny import tiny_loaded

from mlx_spec import Engine, Sampling
from mlx_spec.drafts.base import Draft
from mlx_spec.law.acceptance import block, reject
from mlx_spec.law.sampling import Sampler
from mlx_spec.options import Limits
from mlx_spec.round import details_of, verify

ROWS = mx.array([[2.0, 1.0, 0.0, -mx.inf], [0.5, 0.25, 0.0, 3.0], [1.0, 1.5, 0.0, -1.0]])
DRAFTED = [0, 1]
TEXT = "abcd"
LAWS = mx.array([[0.7, 0.3, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]])


def details(sampling: Sampling, laws: Any = None, rule: Any = block, rows: mx.array = ROWS) -> Any:
    sampler = Sampler(sampling)
    draft = Draft(mx.array(DRAFTED, dtype=mx.uint32), laws)
    outcome = verify([3], draft, lambda ids: rows, sampler, rule, details=True)
    assert outcome.seen is not None
    return outcome, details_of(outcome, outcome.seen, TEXT.__getitem__, greedy=sampler.greedy)


def softmax(rows: mx.array) -> np.ndarray:
    powers = np.exp(np.array(rows, dtype=np.float64))
    return powers / powers.sum(axis=-1, keepdims=True)


def test_greedy_probabilities_are_the_softmax_of_the_raw_logits() -> None:
    outcome, told = details(Sampling())
    law = softmax(ROWS)
    assert told.law == "softmax"
    assert (outcome.accepted, outcome.token) == (1, 3)
    assert [(each.id, each.text, each.q) for each in told.drafted] == [(0, "a", 1.0), (1, "b", 1.0)]
    np.testing.assert_allclose([each.p for each in told.drafted], [law[0, 0], law[1, 1]], rtol=1e-6)
    assert [each.preferred.text for each in told.drafted] == ["a", "d"]
    np.testing.assert_allclose([each.preferred.p for each in told.drafted], [law[0, 0], law[1, 3]], rtol=1e-6)
    assert (told.token.text, told.preferred) == ("d", told.drafted[1].preferred)
    np.testing.assert_allclose(told.token.p, law[1, 3], rtol=1e-6)


@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16])
def test_halves_are_exact_too(dtype: mx.Dtype) -> None:
    rows = ROWS.astype(dtype)
    _, told = details(Sampling(), rows=rows)
    np.testing.assert_allclose(told.token.p, softmax(rows.astype(mx.float32))[1, 3], rtol=1e-6)


@pytest.mark.parametrize("rule", [block, reject], ids=["block", "token-wise"])
@pytest.mark.parametrize("seed", range(4))
def test_sampled_probabilities_are_of_the_warped_law(rule: Any, seed: int) -> None:
    sampling = Sampling(temperature=0.7, top_k=2, seed=seed)
    outcome, told = details(sampling, LAWS, rule)
    law = np.array(Sampler(sampling).laws(ROWS, [3], mx.array(DRAFTED, dtype=mx.uint32)))
    assert told.law == "warped"
    assert [each.p for each in told.drafted] == [law[0, 0], law[1, 1]]
    assert [each.q for each in told.drafted] == [np.float32(0.7), 1.0]
    assert [each.preferred.id for each in told.drafted] == [0, 3]
    assert told.token.p == law[outcome.accepted, outcome.token]
    assert told.preferred.p == law[outcome.accepted].max()


def test_a_certain_draft_has_q_1_and_a_seed_exact_one_none() -> None:
    sampled = Sampling(temperature=1.0, seed=1)
    assert [each.q for each in details(sampled)[1].drafted] == [1.0, 1.0]
    exact = Sampling(temperature=1.0, seed=1, seed_exact=True)
    outcome, told = details(exact)
    assert [each.q for each in told.drafted] == [None, None]
    np.testing.assert_allclose(told.token.p, softmax(ROWS)[outcome.accepted, outcome.token], rtol=1e-5)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("laws", [None, LAWS], ids=["certain", "sampled"])
def test_to_look_changes_nothing(temperature: float, laws: Any) -> None:
    for seed in range(5):
        sampling = Sampling(temperature=temperature, seed=seed)
        draft = Draft(mx.array(DRAFTED, dtype=mx.uint32), laws)
        plain = verify([3], draft, lambda ids: ROWS, Sampler(sampling))
        told = verify([3], draft, lambda ids: ROWS, Sampler(sampling), details=True)
        assert (plain.drafted, plain.emitted) == (told.drafted, told.emitted)
        assert plain.seen is None


PROMPT = [10, 11, 12, 10, 11, 12, 10, 11]


@pytest.mark.parametrize("exactness", ["fast", "strict"])
@pytest.mark.parametrize("source", ["lookup", "self"])
def test_the_engine_tells_each_round_with_drafts_and_the_trace_says_the_same(
    source: str, exactness: str
) -> None:
    target, stream = tiny_loaded("llama", seed=3), io.StringIO()
    engine = Engine(target, source, k=3, trace=stream, exactness=exactness, details=True)
    events = list(engine.generate(PROMPT, limits=Limits(max_tokens=12)))
    lines = [json.loads(line) for line in stream.getvalue().splitlines() if '"round"' in line]
    assert any(event.details for event in events)
    for event, line in zip(events, lines, strict=True):
        assert (event.details is None) == (event.k == 0) == ("details" not in line)
        if event.details:
            assert line["details"] == json.loads(json.dumps(asdict(event.details)))
            assert [each["id"] for each in line["details"]["drafted"]] == line["drafted"]
            assert line["details"]["token"]["id"] == line["token"]
            stands = [each.preferred.id == each.id for each in event.details.drafted]
            assert stands[: event.accepted] == [True] * event.accepted


def test_the_target_drafting_for_itself_has_equal_p_and_q() -> None:
    engine = Engine(tiny_loaded("llama", seed=3), "self", k=3, details=True)
    sampling = Sampling(temperature=0.8, top_k=10, seed=2)
    events = list(engine.generate(PROMPT, sampling, Limits(max_tokens=12)))
    drafted = [each for event in events if event.details for each in event.details.drafted]
    assert drafted
    np.testing.assert_allclose([each.p for each in drafted], [each.q for each in drafted], atol=1e-4)


def test_nobody_asked_so_nothing_is_told() -> None:
    events = Engine(tiny_loaded("llama", seed=3), "self", k=3).generate(PROMPT, limits=Limits(max_tokens=8))
    assert all(event.details is None for event in events)


def test_a_near_tie_that_plain_decoding_decides_has_its_probability_there() -> None:
    engine = Engine(tiny_loaded("llama", seed=3), "self", k=3, exactness="strict", details=True)
    assert engine._strict is not None
    measure = engine._strict.measure

    def everything_is_near(*given: Any) -> None:
        measure(*given)
        engine._strict.band = 1e9  # type: ignore[union-attr]

    engine._strict.measure = everything_is_near  # type: ignore[method-assign]
    events = list(engine.generate(PROMPT, limits=Limits(max_tokens=4)))
    assert engine.metrics.reverified > 0
    for event in events:
        if event.details:
            assert event.accepted == 0
            assert event.details.token.id == event.details.preferred.id
            assert event.details.token.p == pytest.approx(event.details.preferred.p, rel=1e-4)
