"""Strict exactness, on a scripted backend whose rows round otherwise when many are verified at once."""

from __future__ import annotations

from typing import Any

import pytest
from noisy import noisy_target
from readable import PROMPT, READABLE, without_ends
from recorded import Recorded
from tiny import tiny_loaded

from mlx_spec import Engine, Limits, Sampling
from mlx_spec.checks.exactness import row_noise


@pytest.fixture(scope="module")
def noisy() -> Any:
    return noisy_target()


def answer(
    engine: Engine, prompt: list[int] = PROMPT, count: int = 96, sampling: Sampling = Sampling()
) -> list[int]:
    events = engine.generate(prompt, sampling, Limits(max_tokens=count))
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


@pytest.mark.parametrize("family", ["gemma3_text", "qwen3_5"])
def test_strict_comes_back_where_rows_cannot_be_taken_back(family):
    """To the checkpoint that it left where its own rows began."""
    target = noisy_target(5, keys=0.0, family=family)
    plain = answer(Engine(target, None))
    second = PROMPT + plain[:90] + PROMPT[:12]
    base = Engine(target, None)
    answer(base, count=90)
    engine = Engine(target, Recorded(PROMPT + plain), k=4, exactness="strict")
    assert answer(engine, count=90) == plain[:90]
    assert engine.metrics.reverified > 0
    assert engine.metrics.replayed < 3 * 90
    assert answer(engine, second, 40) == answer(base, second, 40)


def test_fast_is_not_so_the_test_can_fail(noisy, plain):
    assert any(answer(Engine(noisy, s, k=4)) != plain for s in sources(plain).values())


def test_strict_holds_over_turns(noisy, plain):
    second = PROMPT + plain[:40] + PROMPT[:12]
    base = Engine(noisy, None)
    answer(base, count=40)
    engine = Engine(noisy, "self", k=3, exactness="strict")
    answer(engine, count=40)
    assert answer(engine, second, 40) == answer(base, second, 40)


@pytest.mark.parametrize(("seed", "length"), [(8, 1), (8, 2), (30, 1), (30, 2)])
def test_strict_holds_after_a_prompt_of_a_few_tokens(seed, length):
    target = noisy_target(seed, logits=1.0)
    engine = Engine(target, "self", k=4, exactness="strict")
    assert answer(engine, PROMPT[:length]) == answer(Engine(target, None), PROMPT[:length])
    assert engine.metrics.band > 0


@pytest.mark.parametrize("penalty", [0.05, 20.0])
@pytest.mark.parametrize("seed", [5, 29])
def test_strict_holds_where_a_penalty_widens_the_noise(seed, penalty):
    target, sampling = noisy_target(seed, logits=1.0), Sampling(repetition_penalty=penalty)
    plain = answer(Engine(target, None), sampling=sampling)
    for k in (1, 2):
        source = Recorded(PROMPT + plain, wrong=set(range(0, 400, 5)))
        engine = Engine(target, source, k=k, exactness="strict")
        assert answer(engine, sampling=sampling) == plain


@pytest.mark.parametrize("new", [1, 5, 15])
@pytest.mark.parametrize("seed", [3, 13, 35])
def test_strict_holds_after_a_sampled_turn(seed, new):
    """Its rows were verified many at once too, and the prompt after them was read at once."""
    target = noisy_target(seed, logits=0.05, keys=0.02)
    base = Engine(target, None)
    sampled = Sampling(temperature=1.0, seed=3, logit_bias=((9, 1000.0),))  # the same text, noise or not
    first = answer(base, count=60)
    begun = PROMPT + first[:10]
    middle = answer(base, begun, 30, sampled)
    prompt = begun + middle + PROMPT[:new]
    expected = answer(base, prompt)
    engine = Engine(target, Recorded(PROMPT + first), k=4, exactness="strict")
    answer(engine, count=60)
    engine.source.text = begun + middle
    assert answer(engine, begun, 30, sampled) == middle
    engine.source.text = prompt + expected
    assert answer(engine, prompt) == expected


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


def test_strict_goes_on_from_a_saved_cache(noisy, plain):
    """Its rows count as plain decoding's own, which would have gone on from them too."""
    saver = Engine(noisy, None)
    text = PROMPT + answer(saver, count=20)
    saved = saver.export()
    engine = Engine(noisy, Recorded(PROMPT + plain, wrong=set(range(0, 300, 4))), k=4, exactness="strict")
    engine.adopt(*saved)
    assert answer(engine, text, count=60) == plain[20:80]
    assert engine.metrics.reverified > 0
