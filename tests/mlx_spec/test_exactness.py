"""Strict exactness, on a scripted backend whose rows round otherwise when many are verified at once."""

from __future__ import annotations

from typing import Any

import pytest
from noisy import noisy_target
from readable import PROMPT, READABLE, without_ends
from recorded import Recorded
from tiny import tiny_loaded

from mlx_spec import Engine, Limits, Sampling
from mlx_spec.exactness import row_noise


@pytest.fixture(scope="module")
def noisy() -> Any:
    return noisy_target()


def answer(engine: Engine, prompt: list[int] = PROMPT, count: int = 96) -> list[int]:
    events = engine.generate(prompt, Sampling(), Limits(max_tokens=count))
    return [token for event in events for token in event.tokens]


@pytest.fixture(scope="module")
def plain(noisy: Any) -> list[int]:
    return answer(Engine(noisy, None))


def sources(plain: list[int]) -> dict[str, Any]:
    text = PROMPT + plain
    return {"self": "self", "lookup": "lookup", "recorded": Recorded(text, wrong=set(range(0, 300, 4)))}


@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("source", ["self", "lookup", "recorded"])
def test_strict_is_plain_decoding_on_a_noisy_backend(noisy, plain, source, k):
    engine = Engine(noisy, sources(plain)[source], k=k, exactness="strict")
    assert answer(engine) == plain
    assert engine.metrics.band > 0
    if source != "lookup":
        assert engine.metrics.reverified > 0
        assert engine.metrics.replayed < 3 * len(plain)
        assert engine.metrics.accepted > 0


def test_fast_is_not_so_the_test_can_fail(noisy, plain):
    assert any(answer(Engine(noisy, s, k=4)) != plain for s in sources(plain).values())


def test_strict_holds_over_turns(noisy, plain):
    second = PROMPT + plain[:40] + PROMPT[:12]
    base = Engine(noisy, None)
    answer(base, count=40)
    engine = Engine(noisy, "self", k=3, exactness="strict")
    answer(engine, count=40)
    assert answer(engine, second, 40) == answer(base, second, 40)


def test_on_this_backend_rows_are_exact_and_strict_costs_nothing():
    target = without_ends(tiny_loaded("llama", vocab=READABLE, seed=6))
    if (noise := row_noise(target.model, PROMPT, rows=5)) > 0:
        pytest.skip(f"this backend's rows differ by {noise}")
    engine = Engine(target, "self", k=4, exactness="strict")
    assert answer(engine) == answer(Engine(target, "self", k=4)) == answer(Engine(target, None))
    assert (engine.metrics.band, engine.metrics.reverified) == (0, 0)


def test_the_noise_is_measured(noisy):
    assert 0.1 < row_noise(noisy.model, PROMPT, rows=4) < 2


def test_sampling_has_no_strict_mode_to_report(noisy):
    engine = Engine(noisy, "self", k=3, exactness="strict")
    list(engine.generate(PROMPT, Sampling(temperature=1.0, seed=1), Limits(max_tokens=8)))
    assert engine.metrics.exactness()["mode"] == "fast"
