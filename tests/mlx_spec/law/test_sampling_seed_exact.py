"""Seed-exact generation by the real engine: the plain sampler's own tokens, whatever drafts them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import mlx.core as mx
import pytest
from fresh import assert_like_fresh
from mlx_lm.models.cache import make_prompt_cache
from readable import PROMPT, READABLE, with_ends, without_ends
from recorded import Recorded
from tiny import tiny_loaded

from mlx_spec import Engine, Limits, Sampling, drafts
from mlx_spec.law.sampling import Sampler
from mlx_spec.options import EngineOptions

LENGTH = 36
SAMPLINGS = {
    "temperature": Sampling(temperature=1.0, seed=5, seed_exact=True),
    "every warper": Sampling(
        temperature=0.9,
        top_p=0.97,
        top_k=40,
        min_p=0.002,
        xtc_probability=0.4,
        xtc_threshold=0.12,
        repetition_penalty=1.2,
        presence_penalty=0.3,
        frequency_penalty=0.2,
        penalty_context=16,
        logit_bias=((7, -math.inf), (9, 1.5)),
        min_tokens=10,
        seed=11,
        seed_exact=True,
    ),
}
SOURCES = ["none", "lookup", "self", "bad model", "recorded", "recorded with errors"]
samplings = pytest.mark.parametrize("name", SAMPLINGS)


@pytest.fixture(scope="module")
def target() -> Any:
    return without_ends(tiny_loaded("llama", vocab=READABLE, seed=6))


def plain(target: Any, sampling: Sampling, length: int = LENGTH) -> list[int]:
    """Plain sampling without the engine: one token a forward of the bare model, one draw a token."""
    spared = target.tokenizer.encode("\n", add_special_tokens=False)
    sampler = Sampler(sampling, start=len(PROMPT), ends=target.tokenizer.eos_token_ids, spared=spared)
    cache, text, fed = make_prompt_cache(target.model), list(PROMPT), 0
    for _ in range(length):
        logits = target.model(mx.array([text[fed:]]), cache=cache)[0, -1:]
        fed = len(text)
        text.append(int(sampler.tokens(logits, text).item()))
    return text[len(PROMPT) :]


@pytest.fixture(scope="module")
def answers(target: Any) -> dict[str, list[int]]:
    return {name: plain(target, sampling) for name, sampling in SAMPLINGS.items()}


def source(name: str, target: Any, answer: list[int]) -> Any:
    text = PROMPT + answer
    if name == "bad model":
        bad = tiny_loaded("llama", vocab=READABLE, layers=1, seed=9)
        return drafts.model_source(target, bad, EngineOptions())
    if name.startswith("recorded"):
        return Recorded(text, wrong=set(range(0, len(text), 3)) if "errors" in name else ())
    return name


def generate(engine: Engine, prompt: list[int], sampling: Sampling, length: int) -> list[int]:
    events = engine.generate(prompt, sampling, Limits(max_tokens=length))
    return [token for event in events for token in event.tokens]


@samplings
@pytest.mark.parametrize("k", [0, 1, 2, 4, 8, "auto"])
@pytest.mark.parametrize("drafted", SOURCES)
def test_the_tokens_are_plain_samplings_own(target, answers, drafted, k, name):
    engine = Engine(target, source(drafted, target, answers[name]), k=k)
    assert generate(engine, PROMPT, SAMPLINGS[name], LENGTH) == answers[name]
    assert_like_fresh(engine)
    if k in (1, 2, 4, 8) and drafted in ("self", "recorded"):
        assert engine.metrics.acceptance_rate == 1


@pytest.mark.parametrize("k", [0, 3, "auto"])
@pytest.mark.parametrize("drafted", ["none", "lookup", "self", "bad model", "recorded with errors"])
@pytest.mark.parametrize("at", [1, 17])
def test_an_answer_goes_on_where_it_was_interrupted(target, answers, drafted, k, at):
    """With the longer prompt and the same seed; the engine is kept, or a new one takes over."""
    name = "every warper"
    sampling = replace(SAMPLINGS[name], min_tokens=0)
    engine = Engine(target, source(drafted, target, answers[name]), k=k)
    begun = generate(engine, PROMPT, sampling, at)
    assert begun == answers[name][:at]
    other = Engine(target, source(drafted, target, answers[name]), k=k)
    for one in (engine, other):
        assert generate(one, PROMPT + begun, sampling, LENGTH - at) == answers[name][at:]


@pytest.mark.parametrize("drafted", ["none", "lookup", "self", "recorded with errors"])
def test_stopping_from_outside_and_going_on_gives_the_same_text(target, answers, drafted):
    sampling = SAMPLINGS["temperature"]
    engine = Engine(target, source(drafted, target, answers["temperature"]), k=4)
    begun: list[int] = []
    for event in engine.generate(PROMPT, sampling, Limits(max_tokens=LENGTH)):
        begun += event.tokens
        if len(begun) >= 9:
            engine.stop()
    assert 9 <= len(begun) < LENGTH
    rest = generate(engine, PROMPT + begun, sampling, LENGTH - len(begun))
    assert begun + rest == answers["temperature"]


@pytest.mark.parametrize("drafted", SOURCES)
def test_the_end_is_plain_samplings_own_too(target, answers, drafted):
    """An end token that is drawn inside a block, none of them before the minimum length."""
    answer = answers["temperature"]
    end = next(answer[i] for i in range(15, LENGTH) if answer[i] not in answer[:i])
    early = answer[3]
    for ends, least in (({end}, 0), ({early, end}, 12)):
        ending = with_ends(target, *ends)
        sampling = replace(SAMPLINGS["temperature"], min_tokens=least)
        expected = plain(ending, sampling)
        stops = [i for i, token in enumerate(expected) if token in ends]
        expected = expected[: stops[0]] if stops else expected
        assert len(expected) >= least
        for k in (1, 4):
            engine = Engine(ending, source(drafted, ending, expected), k=k)
            assert generate(engine, PROMPT, sampling, LENGTH) == expected


def test_another_seed_is_another_answer(target, answers):
    other = replace(SAMPLINGS["temperature"], seed=6)
    assert generate(Engine(target, "self", k=3), PROMPT, other, LENGTH) != answers["temperature"]


def test_plain_decoding_is_the_same_with_and_without_the_option(target, answers):
    loose = replace(SAMPLINGS["every warper"], seed_exact=False)
    assert generate(Engine(target, None), PROMPT, loose, LENGTH) == answers["every warper"]


@samplings
@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("drafted", ["lookup", "self", "bad model", "recorded with errors"])
def test_without_it_a_seed_still_repeats_itself_at_the_same_k(target, answers, drafted, k, name):
    loose = replace(SAMPLINGS[name], seed_exact=False)
    first, second = (
        generate(Engine(target, source(drafted, target, answers[name]), k=k), PROMPT, loose, LENGTH)
        for _ in range(2)
    )
    assert first == second


def test_deterministic_drafts_are_seed_exact_anyway(target, answers):
    """Sample-and-match draws each position's own noise, so lookup never changes the text."""
    for name, sampling in SAMPLINGS.items():
        loose = replace(sampling, seed_exact=False)
        for drafted in ("lookup", "recorded with errors"):
            engine = Engine(target, source(drafted, target, answers[name]), k=4)
            assert generate(engine, PROMPT, loose, LENGTH) == answers[name]


def test_a_model_draft_without_it_gives_another_text_so_the_test_can_fail(target, answers):
    loose = replace(SAMPLINGS["temperature"], seed_exact=False)
    engine = Engine(target, source("bad model", target, []), k=4)
    assert generate(engine, PROMPT, loose, LENGTH) != answers["temperature"]
