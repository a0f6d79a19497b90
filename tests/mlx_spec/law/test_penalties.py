"""Bias, penalties and minimum length of many rows at once against mlx-lm's own, one row at a time."""

from __future__ import annotations

import math
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mlx_lm.sample_utils import make_logits_processors

from mlx_spec.drafts.base import Draft
from mlx_spec.law.sampling import Sampler
from mlx_spec.options import Sampling
from mlx_spec.round import verify

V = 8
token = st.integers(0, V - 1)
penalized = st.builds(
    Sampling,
    temperature=st.just(1.0),
    repetition_penalty=st.sampled_from([1.0, 1.3, 0.5, 2.0]),
    presence_penalty=st.sampled_from([0.0, 0.75, -1.5]),
    frequency_penalty=st.sampled_from([0.0, 0.5, -0.25]),
    penalty_context=st.integers(1, 12),
    logit_bias=st.dictionaries(token, st.sampled_from([-math.inf, -2.0, 3.5]), max_size=3).map(
        lambda bias: tuple(bias.items())
    ),
    seed=st.just(1),
)


def logits(rows: int, seed: int, v: int = V) -> mx.array:
    return 3 * mx.random.normal((rows, v), key=mx.random.key(seed))


def one_row(row: mx.array, history: list[int], sampling: Sampling) -> list[float]:
    """What mlx-lm's processors make of a row, given all the tokens before it."""
    window = sampling.penalty_context
    out = mx.array(row)[None]
    for process in make_logits_processors(
        dict(sampling.logit_bias),
        sampling.repetition_penalty,
        window,
        sampling.presence_penalty,
        window,
        sampling.frequency_penalty,
        window,
    ):
        out = process(mx.array(history), out)
    return out[0].tolist()


@settings(max_examples=150, deadline=None)
@given(
    committed=st.lists(token, min_size=1, max_size=15),
    drafted=st.lists(token, max_size=5),
    last=st.integers(1, 6),
    sampling=penalized,
    seed=st.integers(0, 5),
)
@example([3], [3, 3, 3], 6, Sampling(temperature=1, frequency_penalty=0.5, penalty_context=2), 0)
@example([1] * 9, [], 1, Sampling(temperature=1, presence_penalty=1, penalty_context=20), 0)
def test_each_row_is_penalized_by_its_own_history(
    committed: list[int], drafted: list[int], last: int, sampling: Sampling, seed: int
) -> None:
    """Prompt and committed tokens, and the drafts before the row; the window cuts what is older."""
    rows = min(last, len(drafted) + 1)
    ids = mx.array(drafted, dtype=mx.uint32) if drafted else None
    given = logits(rows, seed)
    scores = Sampler(sampling).scores(given, committed, ids)
    for i in range(rows):
        history = committed + drafted[: len(drafted) + 1 - rows + i]
        expected = one_row(given[i], history, sampling)
        np.testing.assert_allclose(scores[i].tolist(), expected, rtol=1e-5, atol=1e-5)


@settings(max_examples=60, deadline=None)
@given(
    committed=st.lists(token, min_size=1, max_size=9),
    drafted=st.lists(token, min_size=1, max_size=5),
    sampling=penalized,
)
def test_a_verified_row_has_the_law_that_plain_decoding_would_have(
    committed: list[int], drafted: list[int], sampling: Sampling
) -> None:
    """Case c17, row by row: nothing but the history decides, and no draft after the row is in it."""
    given = logits(len(drafted) + 1, seed=2)
    sampler = Sampler(sampling)
    together = sampler.laws(given, committed, mx.array(drafted, dtype=mx.uint32))
    for i in range(len(drafted) + 1):
        alone = sampler.laws(given[i : i + 1], committed + drafted[:i])
        np.testing.assert_allclose(np.array(together[i]), np.array(alone[0]), atol=1e-6)


def test_nothing_of_a_rejected_draft_survives() -> None:
    """Case c17: after rounds that rejected everything, laws and draws are those of a fresh sampler."""
    sampling = Sampling(
        temperature=1, repetition_penalty=1.5, presence_penalty=1, frequency_penalty=1, seed=4
    )
    used, committed = Sampler(sampling), [1, 2, 3]
    impossible = mx.where(mx.arange(V) == 7, -mx.inf, logits(5, 3))
    for laws in (None, mx.where(mx.arange(V) == 7, 1.0, mx.zeros((4, V)))):
        draft = Draft(mx.array([7, 7, 7, 7], dtype=mx.uint32), laws)
        outcome = verify(committed, draft, lambda ids: impossible, used)
        assert outcome.accepted == 0
        committed.append(outcome.token)
    fresh = Sampler(sampling)
    row = logits(1, 9)
    assert used.laws(row, committed).tolist() == fresh.laws(row, committed).tolist()
    assert used.tokens(row, committed).tolist() == fresh.tokens(row, committed).tolist()


def test_penalties_without_effect_change_no_bit_of_the_law() -> None:
    given = logits(3, 0).astype(mx.bfloat16)
    off = Sampler(Sampling(temperature=0.7, top_p=0.9))
    zero = Sampler(Sampling(temperature=0.7, top_p=0.9, logit_bias=((2, 0.0),), min_tokens=0))
    drafted = mx.array([1, 2], dtype=mx.uint32)
    assert off.laws(given, [5], drafted).tolist() == zero.laws(given, [5], drafted).tolist()


@pytest.mark.parametrize("greedy", [True, False])
def test_no_end_token_before_the_minimum_length(greedy: bool) -> None:
    """Row by row by position: the prompt has 2 tokens, so positions 2, 3 and 4 may not end."""
    sampling = Sampling(temperature=0 if greedy else 1, min_tokens=3, seed=1)
    sampler = Sampler(sampling, start=2, ends=[6, 7])
    given = logits(5, 1)
    drafted = mx.array([1, 2, 3, 4], dtype=mx.uint32)
    scores = np.array(sampler.scores(given, [0, 1], drafted))
    forbidden = np.isneginf(scores)
    assert forbidden[:3, 6:].all()
    assert not forbidden[3:].any()
    assert not forbidden[:, :6].any()
    late = np.array(sampler.scores(given[-2:], [0, 1], drafted))
    assert not np.isneginf(late).any()
    if not greedy:
        law = np.array(sampler.laws(given, [0, 1], drafted))
        assert (law[:3, 6:] == 0).all()
        np.testing.assert_allclose(law.sum(axis=-1), 1, atol=1e-6)


def test_tokens_that_the_model_has_no_row_for_are_left_alone() -> None:
    """A tokenizer may know more tokens than the model: MLX would write past the row's end."""
    options = Sampling(temperature=1, xtc_probability=0.5, min_tokens=4, seed=1)
    given = logits(3, 2)
    drafted = mx.array([1, 2], dtype=mx.uint32)
    beyond = Sampler(options, start=1, ends=[6, V, 10**6], spared=[1, V, 10**6])
    within = Sampler(options, start=1, ends=[6], spared=[1])
    assert beyond.laws(given, [0], drafted).tolist() == within.laws(given, [0], drafted).tolist()
    assert beyond.scores(given, [0], drafted).tolist() == within.scores(given, [0], drafted).tolist()


EXTREMES: list[dict[str, Any]] = [
    {"temperature": 0.0, "top_p": 0.0},
    {"temperature": 1e-6},
    {"temperature": 1e-6, "top_p": 1e-9, "min_p": 1.0, "top_k": 1},
    {"temperature": 100.0, "top_k": 1000},
    {"temperature": 1e300, "xtc_probability": 1.0, "xtc_threshold": 0.0},
    {"temperature": 5e-324, "xtc_probability": 0.5, "xtc_threshold": 0.0},
    {"temperature": 1.0, "repetition_penalty": 1e30},
    {"temperature": 1.0, "repetition_penalty": 1e-30},
    {"temperature": 1.0, "presence_penalty": 1e30, "frequency_penalty": -1e30},
]


@pytest.mark.parametrize("options", EXTREMES, ids=str)
def test_extreme_options_are_defined_and_never_nan(options: dict[str, Any]) -> None:
    """Case c19, each with the argmax forbidden as well."""
    given = mx.array([[1.0, 9.0, 2.0, 0.0, -4.0, 5.0, 5.0, 3.0]] * 3)
    sampler = Sampler(Sampling(**options, logit_bias=((1, -math.inf),), seed=3))
    drafted = mx.array([1, 5], dtype=mx.uint32)
    drawn = sampler.tokens(given, [2, 2, 0], drafted).tolist()
    assert all(0 <= x < V and x != 1 for x in drawn)
    assert not np.isnan(np.array(sampler.scores(given, [2, 2, 0], drafted))).any()
    if not sampler.greedy:
        law = np.array(sampler.laws(given, [2, 2, 0], drafted))
        assert np.isfinite(law).all()
        assert (law[:, 1] == 0).all()
        np.testing.assert_allclose(law.sum(axis=-1), 1, atol=1e-5)
