"""Context limits of target and source, and answers without a limit of their own."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from answers import answer, fresh_answer, run, tokens
from fresh import assert_like_fresh
from readable import PROMPT, READABLE, letters, with_ends, without_ends
from recorded import Recorded
from tiny import tiny_loaded

from mlx_spec import Engine, EngineOptions, drafts

ROOM = 12  # tokens that a draft model has room for after `PROMPT`


@pytest.fixture(scope="module")
def target() -> Any:
    return without_ends(tiny_loaded("llama", vocab=READABLE, seed=6))


@pytest.fixture(scope="module")
def reference(target: Any) -> list[int]:
    return fresh_answer(target, PROMPT, max_tokens=96)


def with_context(loaded: Any, length: int) -> Any:
    """The same model, made for `length` tokens."""
    info = replace(loaded.info, context_length=length)
    return SimpleNamespace(model=loaded.model, tokenizer=loaded.tokenizer, info=info)


def narrow(target: Any) -> Any:
    """A source that is always right, and has a shorter context than the target."""
    return drafts.model_source(target, with_context(target, len(PROMPT) + ROOM), EngineOptions())


def test_a_source_stands_down_when_its_context_is_full(target, reference):
    """Case c14, reached in mid-answer."""
    engine = Engine(target, narrow(target), k=3)
    events = run(engine, max_tokens=40)
    assert tokens(events) == reference[:40]
    assert [event.k for event in events] == [3, 3, 3] + [0] * 28
    assert (engine.metrics.state, engine.metrics.k) == ("parked", 0)
    full = f"Speculation is off: the draft model's context of {len(PROMPT) + ROOM} tokens is full."
    assert engine.metrics.reason == full
    assert engine.source.cached.rows < len(PROMPT) + ROOM  # type: ignore[union-attr]
    assert_like_fresh(engine)


def test_a_source_reads_nothing_of_a_prompt_that_it_cannot_hold(target):
    """Case c14, from the start."""
    long = PROMPT + letters(" and so on and on")
    engine = Engine(target, narrow(target), k=3)
    assert answer(engine, long, max_tokens=20) == fresh_answer(target, long, max_tokens=20)
    assert engine.metrics.state == "parked"
    assert engine.metrics.rounds == engine.metrics.source_prefilled_tokens == 0
    assert_like_fresh(engine)


def test_a_shorter_conversation_uses_the_source_again(target):
    engine = Engine(target, narrow(target), k=3)
    answer(engine, max_tokens=40)
    short = letters("something short")
    assert answer(engine, short, max_tokens=20) == fresh_answer(target, short, max_tokens=20)
    assert (engine.metrics.state, engine.metrics.reason) == ("speculating", None)
    assert engine.metrics.acceptance_rate == 1
    assert_like_fresh(engine)


@pytest.mark.parametrize("source", [None, "self", "lookup"])
def test_a_context_with_room_for_three_gives_three(target, reference, source):
    """Case c15."""
    engine = Engine(target, source, k=8, context=len(PROMPT) + 3)
    events = run(engine, max_tokens=-1)
    assert tokens(events) == reference[:3]
    assert events[-1].finish_reason == "length"
    assert engine.metrics.context_full
    assert engine.session.target.rows < len(PROMPT) + 3
    assert_like_fresh(engine)


@pytest.mark.parametrize("source", [None, "self", "lookup", "recorded"])
def test_unlimited_tokens_run_to_the_end_of_the_context(target, reference, source):
    """Case c02 and R2.

    mlx-lm 0.32.2 drafts min(max_tokens - tokens, K) tokens, which is negative, and fails with nothing to
    concatenate.
    """
    draft = Recorded(PROMPT + reference) if source == "recorded" else source
    engine = Engine(target, draft, k=3, context=120)
    events = run(engine, max_tokens=-1)
    assert len(tokens(events)) == 120 - len(PROMPT)
    assert events[-1].finish_reason == "length"
    assert engine.metrics.context_full
    assert_like_fresh(engine)


def test_unlimited_tokens_run_to_an_end_token(target, reference):
    """Case c02."""
    at = next(i for i in range(12, 90) if reference[i] not in reference[:i])
    engine = Engine(with_ends(target, reference[at]), "self", k=3)
    events = run(engine, max_tokens=-1)
    assert tokens(events) == reference[:at]
    assert events[-1].finish_reason == "stop"
    assert not engine.metrics.context_full


def test_an_answer_that_its_own_limit_ends_does_not_fill_the_context(target):
    engine = Engine(target, None, context=200)
    answer(engine, max_tokens=5)
    assert engine.metrics.finish_reason == "length"
    assert not engine.metrics.context_full
