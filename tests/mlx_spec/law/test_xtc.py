"""XTC as a law: the mixture over its coin, against a slow reading and against mlx-lm at probability 1."""

from __future__ import annotations

import math
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mlx_lm.sample_utils import apply_min_p, apply_top_k, apply_top_p, apply_xtc, make_sampler

from mlx_spec.law import acceptance
from mlx_spec.law.noise import Noise
from mlx_spec.law.warpers import warp
from mlx_spec.options import Sampling

from .dice_statistics import plausible

levels = st.integers(-12, 12).map(lambda n: n / 4)  # quarters, so that ties are common
rows = st.lists(levels, min_size=2, max_size=9)


@pytest.fixture(autouse=True, scope="module")
def uncompiled() -> Any:
    """Without `mx.compile`, which would build kernels for every new threshold."""
    mx.disable_compile()
    yield
    mx.enable_compile()


def softmax(row: list[float], temperature: float = 1.0) -> list[float]:
    top = max(row)
    weights = [math.exp((x - top) / temperature) for x in row]
    return [w / math.fsum(weights) for w in weights]


def without_top_choices(row: list[float], threshold: float, spared: list[int]) -> list[float]:
    """Of the tokens above the threshold only the least likely ones stay, and those spared."""
    law = softmax(row)
    above = [p for p in law if p > threshold]
    least = min(above, default=math.inf)
    return [
        -math.inf if p > least * (1 + 1e-9) and i not in spared else x
        for i, (x, p) in enumerate(zip(row, law, strict=True))
    ]


def near_the_threshold(row: list[float], threshold: float) -> bool:
    """Float32 may put a probability on either side of a threshold this close to it."""
    return any(0 < abs(p - threshold) < 1e-5 for p in softmax(row))


@settings(max_examples=200, deadline=None)
@given(
    rows,
    st.floats(0, 0.5),
    st.floats(0, 1),
    st.lists(st.integers(0, 1), max_size=2),
    st.sampled_from([0.5, 1.0, 3.0]),
)
@example([0.0, 0.0], 0.5, 1.0, [], 1.0)
@example([0.0, 0.0, 0.0, 0.0], 0.25, 1.0, [], 1.0)
@example([2.0, 2.0, 1.0], 0.1, 1.0, [0], 1.0)
@example([2.0, 1.0], 0.0, 0.5, [0, 1], 1.0)
def test_xtc_is_the_mixture_over_its_coin(
    row: list[float], threshold: float, share: float, spared: list[int], temperature: float
) -> None:
    if near_the_threshold(row, threshold):
        return
    sampling = Sampling(temperature=temperature, xtc_probability=share, xtc_threshold=threshold)
    law = warp(mx.array([row]), sampling, spared)[0].tolist()
    kept = softmax(row, temperature)
    cut = softmax(without_top_choices(row, threshold, spared), temperature)
    expected = [(1 - share) * a + share * b for a, b in zip(kept, cut, strict=True)]
    assert law == pytest.approx(expected, abs=1e-5)


@settings(max_examples=100, deadline=None)
@given(
    rows, st.floats(0, 0.5), st.sampled_from([0.3, 0.8, 1.0]), st.sampled_from([0.0, 0.05]), st.integers(0, 3)
)
def test_at_probability_1_the_chain_is_mlx_lms(
    row: list[float], threshold: float, top_p: float, min_p: float, top_k: int
) -> None:
    """Top-p, min-p, XTC, top-k, temperature: in this order, by mlx-lm's own functions."""
    logits = mx.array([row])
    theirs = logits - mx.logsumexp(logits, axis=-1, keepdims=True)
    if top_p < 1:
        theirs = apply_top_p(theirs, top_p)
    if min_p > 0:
        theirs = apply_min_p(theirs, min_p)
    theirs = apply_xtc(theirs, 1.0, threshold, [0])
    if 0 < top_k < len(row):
        theirs = apply_top_k(theirs, top_k)
    sampling = Sampling(
        temperature=0.7, top_p=top_p, min_p=min_p, top_k=top_k, xtc_probability=1.0, xtc_threshold=threshold
    )
    law = warp(logits, sampling, [0])
    np.testing.assert_allclose(np.array(law), np.array(mx.softmax(theirs / 0.7, axis=-1)), atol=1e-6)


def test_mlx_lms_own_sampler_has_the_mixture_as_its_law() -> None:
    """Each call of theirs flips its coin anew; over many calls the tokens follow our law."""
    row, n = mx.array([[2.0, 1.5, 0.0, -1.0, -1.0]]), 3000
    law = warp(row, Sampling(temperature=0.8, xtc_probability=0.4, xtc_threshold=0.2))[0].tolist()
    mx.random.seed(5)
    draw = make_sampler(temp=0.8, xtc_probability=0.4, xtc_threshold=0.2)
    drawn = mx.concatenate([draw(row - mx.logsumexp(row)) for _ in range(n)]).tolist()
    for token, p in enumerate(law):
        assert plausible(drawn.count(token), n, p), token


@pytest.mark.parametrize("rule", [acceptance.reject, acceptance.block])
def test_filters_and_a_source_of_another_temperature_leave_the_targets_law(rule: Any) -> None:
    """Case c18: the first token of a round has the target's warped law; q is what was drawn from."""
    sampling = Sampling(temperature=0.7, top_p=0.9, top_k=20, min_p=0.05)
    given = 2 * mx.random.normal((3, 32), key=mx.random.key(4))
    p = warp(given, sampling)
    q = mx.softmax((given[:2] + mx.random.normal((2, 32), key=mx.random.key(5))) / 1.3, axis=-1)
    dice, n, first = Noise(12), 500, []
    for _ in range(n):
        drafted = dice.draw(q)
        accepted, token = rule(p, q, drafted, dice, mx)
        first.append(mx.where(accepted > 0, drafted[0], token))
    counts = np.bincount(np.array(mx.stack(first)), minlength=32)
    assert 2 < (np.array(p[0]) > 0).sum() < 20
    for token, probability in enumerate(p[0].tolist()):
        assert plausible(int(counts[token]), n, probability), token
