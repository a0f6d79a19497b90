"""Recurrent layers are recorded without a trace, and going back runs no more of them than it must."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import mlx.nn as nn
import pytest
from mlx.utils import tree_flatten
from mlx_lm.models.cache import ArraysCache
from tiny import tiny_config, tiny_model

from mlx_spec.caches import CachedModel
from mlx_spec.caches.journal import REACH, Call

LINEAR = "qwen3_5"


@pytest.fixture
def model() -> Any:
    return tiny_model(tiny_config(LINEAR, vocab=32, layers=4), seed=1)


@pytest.fixture
def replays(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The first row of every module call that going back runs again."""
    starts: list[int] = []
    replay = Call.replay
    monkeypatch.setattr(Call, "replay", lambda call, start: (starts.append(start), replay(call, start)))
    return starts


def feed(cached: CachedModel, *counts: int) -> None:
    for count in counts:
        mx.eval(cached.forward(mx.arange(count)))


def test_recording_leaves_the_model_as_it_was(model):
    tokens = mx.arange(9)[None]
    before, tree, text = model(tokens), dict(tree_flatten(model.parameters())), repr(model)
    kinds = [type(module) for module in model.modules()]
    for _ in range(2):
        CachedModel(model)
    assert all(isinstance(m, k) for m, k in zip(model.modules(), kinds, strict=True))
    assert dict(tree_flatten(model.parameters())).keys() == tree.keys()
    assert repr(model) == text
    assert mx.array_equal(model(tokens), before)
    theirs = model.make_cache()
    assert mx.allclose(
        mx.concatenate([model(tokens[:, :4], theirs), model(tokens[:, 4:], theirs)], 1), before
    )


def test_recording_twice_wraps_once(model):
    CachedModel(model)
    kinds = [type(module) for module in model.modules()]
    CachedModel(model)
    assert [type(module) for module in model.modules()] == kinds


def test_quantizing_a_recorded_model_works(model):
    CachedModel(model)
    nn.quantize(model, group_size=32, bits=8)
    cached = CachedModel(model)
    feed(cached, 5, 4)
    cached.keep(7)
    fresh = CachedModel(model)
    feed(fresh, 5)
    fresh.forward(mx.arange(2))
    assert mx.allclose(cached.forward(mx.array([3])), fresh.forward(mx.array([3])), atol=1e-4)


def test_two_caches_of_one_model_do_not_mix(model):
    one, other = CachedModel(model), CachedModel(model)
    feed(one, 6, 3)
    feed(other, 2)
    one.keep(7)
    feed(other, 5)
    fresh = CachedModel(model)
    feed(fresh, 6, 1)
    assert mx.allclose(one.forward(mx.array([1, 2])), fresh.forward(mx.array([1, 2])), atol=1e-4)


def test_what_is_accepted_in_full_runs_nothing_again(model, replays):
    cached = CachedModel(model)
    replays.clear()  # a look at who writes the states goes back once, without computing anything
    for _ in range(10):
        feed(cached, 5)
        cached.keep(cached.rows)
    assert replays == []


def test_a_rejection_runs_only_the_accepted_rows_of_the_newest_forward(model, replays):
    cached = CachedModel(model)
    feed(cached, 20, 5)
    replays.clear()
    cached.keep(22)
    assert replays == [20, 20]  # two of the four layers are recurrent
    replays.clear()
    feed(cached, 5)
    cached.keep(22)
    assert replays == []  # nothing of the newest forward stands, so its snapshot is all


@pytest.mark.parametrize("count", [1, 3, 5])
def test_few_snapshots_live_and_reach_far_enough(model, count):
    cached = CachedModel(model)
    feed(cached, 70)
    for _ in range(60):
        feed(cached, count)
        steps = cached._journal._steps
        assert sum(step.states is not None for step in steps) <= 3
        assert cached.rows - cached._reach >= min(REACH, cached.rows - 70)
        assert len(steps) <= 2 * REACH + 2


def test_a_prompts_chunk_leaves_no_inputs_behind(model):
    cached = CachedModel(model)
    cached.prefill(list(range(30)) * 7, chunk=105)
    assert cached._journal._steps == []


class Unruly(nn.Module):
    """Writes a state where no module was given its cache."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(32, 8)
        self.layers = [nn.Linear(8, 32)]

    def __call__(self, inputs: mx.array, cache: Any = None) -> mx.array:
        x = mx.cumsum(self.embed(inputs), axis=1)
        if cache[0][0] is not None:
            x = x + cache[0][0]
        cache[0][0] = x[:, -1:]
        return self.layers[0](x)

    def make_cache(self) -> list[Any]:
        return [ArraysCache(1)]


def test_states_that_cannot_be_recorded_stand_down_and_decode_all_the_same():
    cached = CachedModel(Unruly())
    assert "cannot be recorded" in (cached.cannot_roll_back or "")
    feed(cached, 3, 1)
    assert cached.restore(2) == 0
