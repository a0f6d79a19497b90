"""The engine's loop on tiny random models: the same tokens as plain decoding, and every kind of end."""

from __future__ import annotations

import math
from typing import Any

import mlx.core as mx
import pytest
from answers import run, sources, tokens
from fresh import assert_like_fresh
from mlx_lm.generate import generate_step
from mlx_lm.models.cache import RotatingKVCache
from readable import PROMPT, READABLE, with_ends, without_ends
from recorded import Recorded
from tiny import tiny_loaded

from mlx_spec import Engine, Limits, Sampling, drafts
from mlx_spec.errors import EmptyPrompt, PromptTooLong, SpecError, UnsupportedCache
from mlx_spec.options import EngineOptions


@pytest.fixture(scope="module")
def target() -> Any:
    return without_ends(tiny_loaded("llama", vocab=READABLE, seed=6))


@pytest.fixture(scope="module")
def reference(target: Any) -> list[int]:
    """The first 96 tokens of mlx-lm's own greedy decoding."""
    return [token for token, _ in generate_step(mx.array(PROMPT), target.model, max_tokens=96)]


@pytest.mark.parametrize("k", [0, 1, 2, 3, 5, 8, "auto"])
@pytest.mark.parametrize(
    "source", ["none", "lookup", "self", "bad model", "recorded", "recorded with errors"]
)
def test_greedy_text_is_mlx_lms_whatever_drafts(target, reference, source, k):
    engine = Engine(target, sources(target, reference)[source], k=k)
    events = run(engine, max_tokens=len(reference))
    assert tokens(events) == reference
    assert events[-1].finish_reason == "length"
    assert_like_fresh(engine)


@pytest.mark.parametrize("kv_bits", [4, 8])
@pytest.mark.parametrize("source", ["lookup", "self", "recorded with errors"])
def test_a_quantized_kv_cache_rolls_back_exactly(reference, source, kv_bits):
    target = without_ends(tiny_loaded("llama", vocab=READABLE, seed=1, head_dim=32))
    plain = tokens(run(Engine(target, None, kv_bits=kv_bits), max_tokens=64))
    draft = Recorded(PROMPT + plain, wrong=set(range(0, 200, 3))) if source.startswith("rec") else source
    engine = Engine(target, draft, k=4, kv_bits=kv_bits)
    assert tokens(run(engine, max_tokens=64)) == plain
    assert_like_fresh(engine, tolerance=1e-2)


@pytest.mark.parametrize("family", ["llama", "qwen2", "qwen3"])
def test_self_drafts_are_always_accepted(family):
    target = without_ends(tiny_loaded(family, vocab=READABLE, seed=2))
    engine = Engine(target, "self", k=4)
    run(engine, max_tokens=60)
    metrics = engine.metrics
    assert metrics.acceptance_rate == 1.0
    assert metrics.acceptance_by_position == [1.0] * 4
    assert metrics.acceptance_length == 5.0
    assert metrics.k_histogram == {4: 12}


def test_a_wrong_draft_costs_only_itself(target, reference):
    engine = Engine(target, Recorded(PROMPT + reference, wrong={len(PROMPT) + 2}), k=4)
    events = run(engine, max_tokens=10)
    assert [(event.k, event.accepted, len(event.tokens)) for event in events] == [
        (4, 2, 3),
        (4, 4, 5),
        (1, 1, 2),
    ]
    assert events[0].origins == ["draft:recorded", "draft:recorded", "target"]
    assert engine.metrics.acceptance_by_position == [1.0, 1.0, 0.5, 1.0]


def test_plain_steps_say_that_they_are_plain(target):
    events = run(Engine(target, None), max_tokens=3)
    assert [event.origins for event in events] == [["plain"]] * 3


def test_a_source_without_a_proposal_means_a_plain_step(target, reference):
    engine = Engine(target, Recorded(PROMPT + reference[:4]), k=4)
    events = run(engine, max_tokens=8)
    assert tokens(events) == reference[:8]
    assert [event.k for event in events] == [4, 0, 0, 0]


def test_sampling_with_a_seed_repeats_itself(target):
    engine = Engine(target, "self", k=3)
    hot = Sampling(temperature=1.0, top_p=0.9, seed=5)
    first, second = (tokens(run(engine, sampling=hot, max_tokens=40)) for _ in range(2))
    other = tokens(run(engine, sampling=Sampling(temperature=1.0, top_p=0.9, seed=6), max_tokens=40))
    assert first == second != other
    assert engine.metrics.seed == 6


def test_a_fresh_seed_is_reported_so_that_it_can_be_repeated(target):
    engine = Engine(target, None)
    first = tokens(run(engine, sampling=Sampling(temperature=2.0), max_tokens=20))
    seed = engine.metrics.seed
    assert tokens(run(engine, sampling=Sampling(temperature=2.0, seed=seed), max_tokens=20)) == first


# Refusals


def keeps_its_first_rows() -> Any:
    """A model with a cache of a kind that cannot go back."""
    loaded = tiny_loaded("llama", vocab=READABLE, seed=6)
    loaded.model.make_cache = lambda: [RotatingKVCache(max_size=128, keep=4) for _ in loaded.model.layers]
    return without_ends(loaded)


@pytest.mark.parametrize("source", ["lookup", "self"])
def test_a_cache_that_cannot_roll_back_decodes_plainly_and_says_why(source):
    target = keeps_its_first_rows()
    engine = Engine(target, source, k=3)
    want = [token for token, _ in generate_step(mx.array(PROMPT), target.model, max_tokens=40)]
    assert tokens(run(engine, max_tokens=40)) == want
    assert engine.metrics.state == "off"
    assert "RotatingKVCache that keeps its first 4 rows" in (engine.metrics.reason or "")
    assert tokens(run(engine, PROMPT + want[:3], max_tokens=20)) == want[3:23]


def test_a_draft_model_that_cannot_roll_back_stands_down_and_says_why(target, reference):
    draft = keeps_its_first_rows()
    engine = Engine(target, drafts.model_source(target, draft, EngineOptions(k=3)), k=3)
    assert tokens(run(engine, max_tokens=20)) == reference[:20]
    assert engine.metrics.state == "off"
    assert "RotatingKVCache that keeps its first 4 rows" in (engine.metrics.reason or "")


def test_a_quantized_cache_is_refused_where_it_does_not_exist():
    with pytest.raises(UnsupportedCache, match="RotatingKVCache"):
        Engine(tiny_loaded("gemma3_text"), None, kv_bits=8)
    with pytest.raises(UnsupportedCache, match="heads of a multiple of 32"):
        Engine(tiny_loaded("llama", head_dim=16), None, kv_bits=8)


def test_bad_prompts_are_refused_before_anything_is_computed(target):
    engine = Engine(target, None, context=20)
    with pytest.raises(EmptyPrompt):
        engine.generate([])
    with pytest.raises(PromptTooLong, match="20"):
        engine.generate(list(range(20)))
    assert engine.session.committed == []


@pytest.mark.parametrize("token", [-1, READABLE, 10**6, 2**40])
def test_a_token_that_the_model_does_not_have_is_refused(target, token):
    with pytest.raises(SpecError, match="not among the model's 64"):
        Engine(target, None).generate([5, token, 6])


def test_one_string_is_no_list_of_stop_strings():
    with pytest.raises(ValueError, match="several strings"):
        Limits(stop="END")  # type: ignore[arg-type]


def test_a_context_beyond_the_models_own_is_refused(target):
    with pytest.raises(SpecError, match="512"):
        Engine(target, None, context=513)


def test_an_unknown_source_is_named(target):
    with pytest.raises(SpecError, match=r"'lokup'.*lookup"):
        Engine(target, "lokup")


@pytest.mark.parametrize("options", [{"k": -1}, {"k": 17}, {"k": "fast"}, {"kv_bits": 5}, {"context": 1}])
def test_options_out_of_range_are_refused(target, options):
    with pytest.raises(ValueError):
        Engine(target, None, **options)


@pytest.mark.parametrize(("allowed", "least"), [(None, 0), (5, 3)])
def test_a_bias_that_forbids_every_token_is_an_error(allowed, least):
    """An end token does not count while the answer is too short to end."""
    target = with_ends(tiny_loaded("llama", vocab=READABLE, seed=6), 5)
    bias = tuple((i, -math.inf) for i in range(READABLE) if i != allowed)
    with pytest.raises(SpecError, match="forbid every token"):
        Engine(target, None).generate(PROMPT, Sampling(logit_bias=bias, min_tokens=least))
