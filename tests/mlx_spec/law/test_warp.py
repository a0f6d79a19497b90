"""The warpers against a slow reading of their meaning: top-p, min-p, top-k on the untempered
probabilities, each an upper set of the logits; then temperature.

At a tie on the cut, or a mass within rounding of top-p, either set of tokens is right; the result
must be a law in any case.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mlx_spec.law.sampling import Sampler
from mlx_spec.law.warpers import warp
from mlx_spec.options import Sampling

NEVER = -math.inf
ROUNDING = 1e-5


@pytest.fixture
def uncompiled() -> Iterator[None]:
    """Without `mx.compile`, which would build kernels for every new top-p and min-p."""
    mx.disable_compile()
    yield
    mx.enable_compile()


# Quarters, so that ties are common; some tokens are impossible.
levels = st.one_of(st.integers(-24, 24).map(lambda n: n / 4), st.just(NEVER))
rows = st.lists(levels, min_size=2, max_size=9).filter(lambda row: max(row) > NEVER)
samplings = st.builds(
    Sampling,
    temperature=st.sampled_from([1e-6, 0.3, 0.7, 1.0, 2.5, 100.0]),
    top_p=st.one_of(st.sampled_from([0.0, 1e-9, 0.5, 0.9, 1.0]), st.floats(0, 1)),
    top_k=st.integers(0, 12),
    min_p=st.one_of(st.sampled_from([0.0, 0.05, 1.0]), st.floats(0, 1)),
    seed=st.just(0),
)


def probabilities(row: list[float], temperature: float = 1) -> list[float]:
    top = max(row)
    weights = [math.exp((x - top) / temperature) for x in row]
    return [w / math.fsum(weights) for w in weights]


def kept_counts(row: list[float], sampling: Sampling) -> tuple[int, int]:
    """How many tokens, the likeliest first, may stay: at least and at most."""
    ranked = sorted(probabilities(row), reverse=True)
    possible = sum(x > NEVER for x in row)
    least = most = possible
    if 0 < sampling.top_p < 1:
        # A token stays if those above it have not reached the mass yet; equals of it stay with it.
        above = [math.fsum(ranked[:i]) for i in range(possible)]
        surely = [p for p, mass in zip(ranked, above, strict=False) if mass < sampling.top_p - ROUNDING]
        maybe = [p for p, mass in zip(ranked, above, strict=False) if mass < sampling.top_p + ROUNDING]
        least = sum(p >= min(surely, default=ranked[0]) * (1 - 1e-9) for p in ranked[:possible])
        most = sum(p >= min(maybe) * (1 - 1e-9) for p in ranked[:possible])
    if sampling.min_p > 0:
        floor = ranked[0] * sampling.min_p
        least = min(least, sum(p >= floor * (1 + ROUNDING) for p in ranked[:possible]) or 1)
        most = min(most, sum(p >= floor * (1 - ROUNDING) for p in ranked[:possible]))
    if sampling.top_k:
        least, most = min(least, sampling.top_k), min(most, sampling.top_k)
    return least, most


def check(row: list[float], law: list[float], sampling: Sampling) -> None:
    """`law` keeps an allowed upper set of `row`, tempered and normalised."""
    assert all(math.isfinite(p) and 0 <= p <= 1 for p in law)
    assert math.fsum(law) == pytest.approx(1, abs=1e-5)
    least, most = kept_counts(row, sampling)
    for count in range(least, most + 1):
        cut = sorted(row, reverse=True)[count - 1]
        above, at = sum(x > cut for x in row), sum(x == cut for x in row)
        ranked = sorted((p for x, p in zip(row, law, strict=True) if x == cut), reverse=True)
        chosen = [x for x in row if x > cut] + [cut] * (count - above)
        top = max(row)
        total = math.fsum(math.exp((x - top) / sampling.temperature) for x in chosen)

        def expected(x: float, top: float = top, total: float = total) -> float:
            return math.exp((x - top) / sampling.temperature) / total

        higher = all(
            p == pytest.approx(expected(x), abs=1e-5) for x, p in zip(row, law, strict=True) if x > cut
        )
        lower = all(p == 0 for x, p in zip(row, law, strict=True) if x < cut)
        tied = ranked == pytest.approx(
            [expected(cut)] * (count - above) + [0.0] * (above + at - count), abs=1e-5
        )
        if higher and lower and tied:
            return
    pytest.fail(f"{law} keeps no allowed set of {row}: between {least} and {most} tokens")


@pytest.mark.usefixtures("uncompiled")
@settings(max_examples=400, deadline=None)
@given(rows, samplings)
@example([0.0, 0.0, 0.0, -1.0], Sampling(temperature=1, top_k=2))
@example([0.0, 0.0, 0.0, -1.0], Sampling(temperature=1, top_p=0.5))
@example([0.0, NEVER, 0.0], Sampling(temperature=1e-6, top_k=12, top_p=1e-9, min_p=1.0))
@example([2.0, 1.0], Sampling(temperature=100, min_p=math.exp(-1)))
def test_a_warped_row_is_what_the_options_mean(row: list[float], sampling: Sampling) -> None:
    check(row, warp(mx.array([row]), sampling)[0].tolist(), sampling)


@pytest.mark.usefixtures("uncompiled")
@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(1, 5), samplings)
def test_each_row_of_a_batch_is_the_row_alone(data: Any, m: int, sampling: Sampling) -> None:
    row = st.lists(levels, min_size=7, max_size=7).filter(lambda r: max(r) > NEVER)
    batch = mx.array([data.draw(row) for _ in range(m)])
    together = warp(batch, sampling)
    assert together.shape == batch.shape
    for i in range(m):
        assert together[i].tolist() == warp(batch[i : i + 1], sampling)[0].tolist()


@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16, mx.float32])
@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(temperature=0.7, top_p=0.9, top_k=20, min_p=0.05),
        Sampling(temperature=1.3),
        Sampling(temperature=1e-6),
    ],
    ids=["all-three", "temperature", "cold"],
)
def test_low_precision_logits_are_warped_in_float32(dtype: mx.Dtype, sampling: Sampling) -> None:
    logits = (8 * mx.random.normal((3, 200), key=mx.random.key(1))).astype(dtype)
    law = warp(logits, sampling)
    assert law.dtype == mx.float32
    assert law.tolist() == warp(logits.astype(mx.float32), sampling).tolist()
    for row, warped in zip(logits.astype(mx.float32).tolist(), law.tolist(), strict=True):
        check(row, warped, sampling)


@pytest.mark.parametrize("temperature", [5e-324, 1e-46, 1e-40, 1e-6, 100.0, 1e39, 1e300])
@pytest.mark.parametrize("top_p", [0.0, 1e-50, 1e-9, 1.0])
@pytest.mark.parametrize("top_k", [0, 2, 4, 1000])
def test_extreme_options_give_a_law_and_never_nan(temperature: float, top_p: float, top_k: int) -> None:
    sampling = Sampling(temperature=temperature, top_p=top_p, top_k=top_k)
    law = np.array(warp(mx.array([[1.0, 3.0, NEVER, 2.5], [3e38, -3e38, 0.0, NEVER]]), sampling))
    np.testing.assert_allclose(law.sum(axis=-1), 1, atol=1e-6)
    assert (law[:, [2, 3]] == 0)[[0, 1], [0, 1]].all()  # impossible tokens stay impossible
    if temperature <= 1e-6 or 0 < top_p < 1e-6:
        np.testing.assert_array_equal(law, [[0, 1, 0, 0], [1, 0, 0, 0]])


def test_temperature_0_with_top_p_0_is_the_argmax() -> None:
    sampler = Sampler(Sampling(temperature=0, top_p=0))
    assert sampler.greedy
    assert sampler.tokens(mx.array([[0.0, 2.0, 1.0]]), [0]).tolist() == [1]


def test_a_banned_top_token_leaves_the_law_of_the_others() -> None:
    row = [5.0, 1.0, 2.0]
    banned = [NEVER, *row[1:]]
    for sampling in (Sampling(temperature=0.5, top_p=0.9, top_k=2, min_p=0.1), Sampling(temperature=1)):
        check(banned, warp(mx.array([banned]), sampling)[0].tolist(), sampling)
    assert Sampler(Sampling()).tokens(mx.array([banned]), [0]).tolist() == [2]


def test_filters_look_at_untempered_probabilities() -> None:
    """Heat flattens a law; what top-p keeps does not grow with it."""
    row = mx.array([[3.0, 2.0, 0.0, -1.0]])
    kept = [(warp(row, Sampling(temperature=t, top_p=0.8)) > 0).tolist() for t in (0.5, 1.0, 50.0)]
    assert kept == [[[True, True, False, False]]] * 3


def test_a_wide_row_with_a_narrow_top_p_keeps_its_top_token() -> None:
    logits = mx.random.normal((2, 150_000), key=mx.random.key(2))
    law = warp(logits, Sampling(temperature=1, top_p=1e-7))
    assert (law > 0).sum(axis=-1).tolist() == [1, 1]
    assert mx.argmax(law, axis=-1).tolist() == mx.argmax(logits, axis=-1).tolist()
