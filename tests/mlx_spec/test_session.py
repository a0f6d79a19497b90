"""Turns of one conversation: what the caches share with the next prompt is not read again."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import pytest
from answers import run, sources, tokens
from fresh import assert_like_fresh
from mlx_lm.generate import generate_step
from readable import PROMPT, READABLE, letters, without_ends
from tiny import tiny_loaded

from mlx_spec import Engine, Limits


@pytest.fixture(scope="module")
def target() -> Any:
    return without_ends(tiny_loaded("llama", vocab=READABLE, seed=6))


@pytest.fixture(scope="module")
def reference(target: Any) -> list[int]:
    """The first 96 tokens of mlx-lm's own greedy decoding."""
    return [token for token, _ in generate_step(mx.array(PROMPT), target.model, max_tokens=96)]


@pytest.mark.parametrize("source", [None, "self", "lookup", "bad model"])
def test_a_second_turn_equals_a_fresh_run_and_reuses_the_first(target, reference, source):
    """Case c03: the first turn ends right on a bonus token."""
    draft = sources(target, reference)["bad model"] if source == "bad model" else source
    engine = Engine(target, draft, k=4)
    first = tokens(run(engine, max_tokens=10))
    second_prompt = PROMPT + first + letters(" and then")
    second = tokens(run(engine, second_prompt, max_tokens=20))
    assert engine.metrics.reused_tokens == len(PROMPT) + 10 - 1
    assert second == tokens(run(Engine(target, None), second_prompt, max_tokens=20))
    assert_like_fresh(engine)


@pytest.mark.parametrize("source", ["self", "lookup"])
def test_an_edited_turn_reuses_the_common_prefix(target, source):
    engine = Engine(target, source, k=4)
    run(engine, max_tokens=10)
    edited = PROMPT[:20] + letters("something else")
    got = tokens(run(engine, edited, max_tokens=20))
    assert engine.metrics.reused_tokens == 20
    assert got == tokens(run(Engine(target, None), edited, max_tokens=20))
    assert_like_fresh(engine)


def test_nothing_of_another_conversation_is_proposed(target, reference):
    """Case c20 for lookup: its index holds the present conversation only."""
    engine = Engine(target, "lookup", k=4)
    run(engine, max_tokens=30)
    new = [7, 8, 9, 10, 11, 12]
    list(engine.generate(new, limits=Limits(max_tokens=1)))
    assert engine.source is not None
    assert engine.source._tokens == engine.session.committed  # type: ignore[attr-defined]
    assert all(set(gram) <= set(engine.session.committed) for gram in engine.source._continued)  # type: ignore[attr-defined]
