"""Every family speculates, and its text is plain decoding's, past windows, chunks and buffers."""

from __future__ import annotations

import functools
from typing import Any

import mlx.core as mx
import pytest
from fresh import assert_like_fresh
from mlx_lm.generate import generate_step
from readable import PROMPT, READABLE, letters, without_ends
from recorded import Recorded
from tiny import tiny_loaded

from mlx_spec import Engine, Limits, drafts
from mlx_spec.caches.chunked import ChunkedCache
from mlx_spec.caches.window import WindowCache
from mlx_spec.options import EngineOptions

FAMILIES = (
    *("llama", "qwen2", "qwen3", "qwen3_moe", "qwen3_5", "qwen3_next", "gemma3_text", "gemma4_text"),
    *("gemma3n", "gpt_oss", "mamba2", "falcon_h1", "lfm2", "deepseek_v3", "llama4", "rwkv7"),
)
LENGTH = 230  # with the prompt past 256, where mlx-lm's buffers grow
SEEDS = {"gemma3n": 4, "gemma3_text": 5, "rwkv7": 2}  # else 3; chosen for text that does not repeat soon
KINDS = ("gemma3_text", "qwen3_5", "llama4", "falcon_h1")  # a window, a state, a chunk, several in a layer


@pytest.fixture(autouse=True)
def _small_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows leave their buffer several times within these short texts."""
    monkeypatch.setattr(WindowCache, "step", 16)
    monkeypatch.setattr(ChunkedCache, "step", 16)


@functools.cache
def loaded(family: str, other: int = 0) -> Any:
    seed = SEEDS.get(family, 3) + other
    return without_ends(tiny_loaded(family, vocab=READABLE, seed=seed))


@functools.cache
def plain(family: str) -> list[int]:
    """mlx-lm's own greedy decoding."""
    model = loaded(family).model
    return [token for token, _ in generate_step(mx.array(PROMPT), model, max_tokens=LENGTH)]


def source(family: str, name: str) -> Any:
    if name == "bad model":
        return drafts.model_source(loaded(family), loaded(family, other=1), EngineOptions(prefill_chunk=16))
    if name == "recorded":
        text = PROMPT + plain(family)
        return Recorded(text, wrong={i for i in range(len(text)) if i % 7 in (0, 3)})
    return name


def run(engine: Engine, prompt: list[int] = PROMPT, count: int = LENGTH) -> tuple[list[int], list[Any]]:
    events = list(engine.generate(prompt, limits=Limits(max_tokens=count)))
    return [token for event in events for token in event.tokens], events


def check(family: str, name: str, k: int) -> None:
    engine = Engine(loaded(family), source(family, name), k=k, prefill_chunk=16)
    answer, events = run(engine)
    assert engine.metrics.state == "speculating", engine.metrics.reason
    assert answer == plain(family)
    assert_like_fresh(engine)
    if name == "self":
        assert all(event.accepted == event.k for event in events)
        assert engine.metrics.acceptance_rate == 1.0
    if name == "recorded":
        assert 0 < engine.metrics.acceptance_rate < 1


@pytest.mark.parametrize("name", ["self", "recorded"])
@pytest.mark.parametrize("family", KINDS)
def test_each_kind_of_cache_goes_back_exactly(family, name):
    check(family, name, k=3)


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("name", ["self", "lookup", "bad model", "recorded"])
@pytest.mark.parametrize("family", FAMILIES)
def test_greedy_text_is_plain_decodings_whatever_drafts(family, name, k):
    check(family, name, k)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_speculates(family):
    """A short run of each; the whole grid is slow."""
    engine = Engine(loaded(family), source(family, "bad model"), k=4, prefill_chunk=16)
    answer, _ = run(engine, count=12)
    assert engine.metrics.state == "speculating", engine.metrics.reason
    assert answer == plain(family)[:12]
    assert_like_fresh(engine)


def test_c01_a_window_wraps_under_a_poor_draft():
    """R1: mlx-lm asks once whether the cache can be trimmed, before the window wraps. After that its trims
    return 0, rejected rows stay, and its greedy text silently differs from plain decoding's."""
    family = "gemma3_text"
    engine = Engine(loaded(family), source(family, "bad model"), k=3)
    answer, _ = run(engine, count=80)
    assert answer == plain(family)[:80]
    assert engine.metrics.drafted > engine.metrics.accepted
    assert_like_fresh(engine)


@pytest.mark.parametrize("family", ["gemma4_text", "gemma3n"])
def test_c05_layers_that_share_keys_keep_a_session_over_turns(family):
    """R5: mlx-lm takes the first `len(model.layers)` of a caller's prompt cache for the target. A KV-shared
    model has fewer caches than layers, so the draft's are among them, and the draft ends in an IndexError."""
    engine = Engine(loaded(family), source(family, "bad model"), k=3)
    first, _ = run(engine, count=60)
    second = PROMPT + first + letters(" and then")
    answer, _ = run(engine, second, count=40)
    assert engine.metrics.state == "speculating"
    assert engine.metrics.reused_tokens == len(PROMPT) + len(first) - 1
    assert answer == run(Engine(loaded(family), None), second, count=40)[0]
    assert_like_fresh(engine)


@pytest.mark.parametrize(
    ("family", "name", "k"),
    [
        ("qwen3_5", "bad model", 6),
        ("qwen3_5", "lookup", 1),
        ("qwen3_next", "bad model", 1),
        ("qwen3_next", "lookup", 6),
    ],
)
def test_c06_gated_delta_nets_speculate(family, name, k):
    """mlx-lm refuses to speculate on these models. Every K from 1 to 6 is among the slow tests."""
    check(family, name, k)


# Ends and turns


@pytest.mark.parametrize("name", [None, "recorded"])
@pytest.mark.parametrize("family", KINDS)
def test_after_every_kind_of_end_the_caches_are_a_fresh_prefills(family, name):
    target = loaded(family)
    engine = Engine(target, source(family, name) if name else None, k=4, prefill_chunk=16)
    drops = target.tokenizer.decode(plain(family)[40:46])
    events = list(engine.generate(PROMPT, limits=Limits(max_tokens=90, stop=(drops,))))
    assert events[-1].finish_reason == "stop_string"
    assert_like_fresh(engine)
    for i, _ in enumerate(engine.generate(PROMPT, limits=Limits(max_tokens=90))):
        if i == 7:
            engine.stop()
    assert engine.metrics.finish_reason == "interrupt"
    assert_like_fresh(engine)
    for i, _ in enumerate(engine.generate(PROMPT, limits=Limits(max_tokens=90))):
        if i == 9:
            break
    assert_like_fresh(engine)


@pytest.mark.parametrize("shared", [10, 90])
@pytest.mark.parametrize("family", KINDS)
def test_an_edited_turn_equals_a_fresh_run(family, shared):
    engine = Engine(loaded(family), source(family, "bad model"), k=4, prefill_chunk=16)
    first, _ = run(engine, count=80)
    edited = (PROMPT + first)[:shared] + letters("something else")
    answer, _ = run(engine, edited, count=20)
    assert answer == run(Engine(loaded(family), None, prefill_chunk=16), edited, count=20)[0]
    assert_like_fresh(engine)
