"""Caches compared with fresh ones after every round, and models that compute no numbers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import mlx.core as mx
import pytest
from answers import answer, bad_model, fresh_answer
from mlx.utils import tree_map
from readable import PROMPT, READABLE, without_ends
from tiny import FAMILIES, tiny_loaded

from mlx_spec import Engine, EngineOptions, Sampling, drafts
from mlx_spec.caches import CachedModel
from mlx_spec.caches.rows import ROWS_DIFFER
from mlx_spec.errors import CacheMismatch, NotFinite, SpecError


@pytest.fixture(scope="module")
def target() -> Any:
    return without_ends(tiny_loaded("llama", vocab=READABLE, seed=6))


def as_dtype(loaded: Any, dtype: mx.Dtype) -> Any:
    """The same model in another type."""
    loaded.model.update(tree_map(lambda a: a.astype(dtype), loaded.model.parameters()))
    return loaded


# One of each kind of cache.
KINDS = ["llama", "gemma3_text", "gemma4_text", "llama4", "deepseek_v3", "qwen3_next", "falcon_h1", "mamba2"]
NOT_BUILT = {"bitnet", "muse_spark", "olmo"}  # on a CPU; docs/families.md says why
OTHERS = sorted(FAMILIES.keys() - KINDS - NOT_BUILT - ROWS_DIFFER.keys())


@pytest.mark.parametrize(
    "family", [*KINDS, *(pytest.param(other, marks=pytest.mark.slow) for other in OTHERS)]
)
def test_caches_of_every_family_pass(family):
    model = without_ends(tiny_loaded(family, seed=6))
    engine = Engine(model, "self", k=4, paranoid=True)
    assert answer(engine, max_tokens=24) == answer(Engine(model, "self", k=4), max_tokens=24)


@pytest.mark.parametrize("family", sorted(ROWS_DIFFER))
def test_a_model_whose_fresh_reading_is_no_measure_is_refused(family):
    with pytest.raises(SpecError, match="cannot be compared") as refused:
        Engine(tiny_loaded(family), "self", paranoid=True)
    assert "--paranoid" in refused.value.next_step


@pytest.mark.parametrize("options", [{"dtype": mx.float16}, {"dtype": mx.bfloat16}, {"kv_bits": 8}])
def test_rounding_is_no_difference(options):
    model = without_ends(tiny_loaded("llama", vocab=READABLE, seed=3, head_dim=32))
    model = as_dtype(model, options.pop("dtype", mx.float32))
    assert len(answer(Engine(model, "self", k=4, paranoid=True, **options), max_tokens=16)) == 16


def test_it_changes_no_text(target):
    engine = Engine(target, bad_model(target), k=3, paranoid=True)
    assert answer(engine, max_tokens=16) == fresh_answer(target, PROMPT, max_tokens=16)


def spoil(cached: CachedModel) -> None:
    """Change one row of one layer."""
    cached.layers[0].keys[:, :, 20:21, :] *= -1


@pytest.mark.parametrize(("source", "who"), [("lookup", "target"), (None, "target"), ("self", "draft model")])
def test_one_spoilt_row_is_found(target, source, who):
    engine = Engine(target, source, k=3, paranoid=True)
    rounds = engine.generate(PROMPT)
    next(rounds)
    spoil(engine.session.target if who == "target" else engine.source.cached)  # type: ignore[union-attr]
    with pytest.raises(CacheMismatch, match=rf"After \d+ tokens the {who}'s cache \(KVCache\)"):
        list(rounds)
    assert answer(engine, max_tokens=8) == fresh_answer(target, PROMPT, max_tokens=8)


def test_without_it_a_spoilt_source_is_seen_by_nothing(target):
    engine = Engine(target, "self", k=3)
    rounds = engine.generate(PROMPT)
    got = list(next(rounds).tokens)
    spoil(engine.source.cached)  # type: ignore[union-attr]
    got += [token for _, event in zip(range(8), rounds, strict=False) for token in event.tokens]
    assert got == fresh_answer(target, PROMPT, max_tokens=len(got))


def test_tokens_that_a_stop_string_takes_back_are_no_difference():
    model = without_ends(tiny_loaded("qwen3_next", vocab=READABLE, seed=6))
    whole = fresh_answer(model, PROMPT, max_tokens=40)
    stop = model.tokenizer.decode(whole[10:35])
    engine = Engine(model, "self", k=3, paranoid=True)
    got = answer(engine, max_tokens=60, stop=(stop,))
    assert engine.metrics.finish_reason == "stop_string"
    assert got == whole[: len(got)]


# Models that compute NaN


def broken() -> Any:
    loaded = tiny_loaded("llama", vocab=READABLE, seed=6)
    loaded.model.model.norm.weight = loaded.model.model.norm.weight * float("nan")
    return without_ends(loaded)


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(temperature=1.0, seed=1)])
@pytest.mark.parametrize("options", [{}, {"k": 3}, {"k": 3, "exactness": "strict"}])
@pytest.mark.parametrize("source", [None, "self", "lookup"])
def test_a_model_that_computes_nan_says_so_and_gives_no_tokens(source, options, sampling):
    engine = Engine(broken(), source, **options)
    with pytest.raises(NotFinite, match=r"computes NaN.*--dtype float32"):
        list(engine.generate(PROMPT, sampling))
    assert engine.metrics.completion_tokens == 0
    assert engine.metrics.finish_reason == "error"
    assert issubclass(NotFinite, SpecError)


def test_a_draft_model_that_computes_nan_harms_nobody(target):
    draft: Any = SimpleNamespace(**vars(broken()))
    engine = Engine(target, drafts.model_source(target, draft, EngineOptions()), k=3, paranoid=True)
    assert answer(engine, max_tokens=12) == fresh_answer(target, PROMPT, max_tokens=12)
