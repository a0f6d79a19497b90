"""What a round does with hard numbers: precision, underflow, width, types, and one wait for the device."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from mlx_spec.drafts.base import Draft
from mlx_spec.law.acceptance import block, block_table, match, reject, rejection_table
from mlx_spec.law.noise import Noise
from mlx_spec.law.sampling import Sampler
from mlx_spec.options import Sampling
from mlx_spec.round import verify

V = 6


def logits(rows: int, v: int = V, seed: int = 0) -> mx.array:
    return mx.random.normal((rows, v), key=mx.random.key(seed))


def uint(*ids: int) -> mx.array:
    return mx.array(ids, dtype=mx.uint32)


class Watched:
    """Stands for an array that leaves the device: counts its readings and gives zeros."""

    def __init__(self, values: mx.array, readings: list[mx.array]) -> None:
        self._values, self._readings = values, readings

    def tolist(self) -> list[int]:
        self._readings.append(self._values)
        return [0] * self._values.size


class CompiledSampler(Sampler):
    """Hands out an array namespace whose second concatenation of token ids, the outcome, is watched."""

    def __init__(self, sampling: Sampling, readings: list[mx.array]) -> None:
        super().__init__(sampling)
        calls: list[Any] = []

        def concatenate(arrays: list[mx.array], axis: int = 0) -> Any:
            joined = mx.concatenate(arrays, axis=axis)
            outcome = len(calls) > 0 and joined.ndim == 1 and joined.dtype == mx.uint32
            calls.extend([joined] * (joined.dtype == mx.uint32))
            return Watched(joined, readings) if outcome else joined

        self.xp = SimpleNamespace(**{**vars(mx), "concatenate": concatenate})


@pytest.mark.parametrize("rule", [None, reject, block], ids=["match", "token-wise", "block"])
@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_a_round_waits_for_the_device_once(rule: Any, temperature: float) -> None:
    """All of a round up to its one reading can be traced by `mx.compile`, which refuses any other."""
    sampling = Sampling(temperature=temperature, top_p=0.9, top_k=4, min_p=0.01, seed=1)

    def play(rows: mx.array, drafted: mx.array, laws: mx.array) -> mx.array:
        readings: list[mx.array] = []
        draft = Draft(drafted, laws if rule else None)
        verify([3], draft, lambda ids: rows, CompiledSampler(sampling, readings), rule or block)
        assert len(readings) == 1
        return readings[0]

    laws = mx.softmax(logits(2, seed=5), axis=-1)
    outcome = mx.compile(play)(logits(3), uint(1, 2), laws).tolist()
    draft = Draft(uint(1, 2), laws if rule else None)
    plain = verify([3], draft, lambda ids: logits(3), Sampler(sampling), rule or block)
    assert outcome == [*plain.drafted, plain.accepted, plain.token, 0]  # the last tells of NaN


@pytest.mark.parametrize("k", [1, 2, 16])
@pytest.mark.parametrize("dtype", [mx.float32, mx.float16, mx.bfloat16])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_an_outcome_is_plain_whole_numbers_for_every_k_and_precision(
    k: int, dtype: mx.Dtype, temperature: float
) -> None:
    seen = []

    def forward(ids: mx.array) -> mx.array:
        seen.append(ids)
        return logits(k + 1).astype(dtype)

    drafted = mx.arange(k).astype(mx.uint32) % V
    for laws in (None, mx.full((k, V), 1 / V)):
        outcome = verify(
            [5], Draft(drafted, laws), forward, Sampler(Sampling(temperature=temperature, seed=2))
        )
        assert outcome.drafted == drafted.tolist()
        assert 0 <= outcome.accepted <= k
        assert 0 <= outcome.token < V
        assert all(type(x) is int for x in [*outcome.emitted, outcome.accepted])
        assert outcome.emitted == [*outcome.drafted[: outcome.accepted], outcome.token]
    assert all(ids.dtype == mx.uint32 and ids.tolist() == [5, *drafted.tolist()] for ids in seen)


@pytest.mark.parametrize("dtype", [mx.uint32, mx.int32, mx.int64])
def test_drafted_ids_compare_by_value_and_not_by_type(dtype: mx.Dtype) -> None:
    drawn = uint(2_147_483_647, 2, 3)
    n, token = match(drawn, mx.array([2_147_483_647, 1], dtype=dtype), mx)
    assert (n.item(), token.item()) == (1, 2)


def test_ids_beyond_float_precision_survive_a_round() -> None:
    """Token ids are never carried as floats: 2^24 + 1 stays itself."""
    big = 2**24 + 1
    n, token = match(uint(big, big), uint(big), mx)
    assert (n.item(), token.item()) == (1, big)


@pytest.mark.parametrize("table", [rejection_table, block_table])
def test_equal_laws_up_to_rounding_still_give_laws(table: Any) -> None:
    p = mx.softmax(logits(4, 1000), axis=-1)
    q = p[:3] * (1 + 1e-7 * mx.random.normal((3, 1000), key=mx.random.key(3)))
    accept, follow = table(p, q, uint(1, 2, 3), mx)
    assert ((np.array(accept) >= 0) & (np.array(accept) <= 1)).all()
    assert accept[-1].item() > 1 - 1e-5
    np.testing.assert_allclose(np.array(follow).sum(axis=-1), 1, atol=1e-5)
    assert (np.array(follow) >= 0).all()


@pytest.mark.parametrize("least", [1e-30, 1e-38, 1e-42, 1e-45, 0.0])
@pytest.mark.parametrize("table", [rejection_table, block_table])
def test_a_drafted_probability_near_nothing_overflows_to_acceptance(table: Any, least: float) -> None:
    q = mx.array([[least, 1.0 - least, 0.0]])
    p = mx.array([[0.5, 0.25, 0.25], [0.2, 0.3, 0.5]])
    accept, follow = table(p, q, uint(0), mx)
    assert np.isfinite(np.array(accept)).all()
    assert 0 <= accept.item() <= 1
    if least >= 1e-38:  # denormal numbers may be flushed to zero
        assert accept.item() == 1
    np.testing.assert_allclose(np.array(follow).sum(axis=-1), 1, atol=1e-6)


@pytest.mark.parametrize("least", [1e-30, 1e-38, 1e-42, 1e-45])
@pytest.mark.parametrize("table", [rejection_table, block_table])
def test_a_target_probability_near_nothing_is_rejected_into_a_law(table: Any, least: float) -> None:
    p = mx.array([[least, 1.0, 0.0], [1.0, 0.0, 0.0]])
    accept, follow = table(p, mx.array([[1.0, 0.0, 0.0]]), uint(0), mx)
    assert accept.item() <= 1e-29
    np.testing.assert_allclose(np.array(follow), [[0, 1, 0], [1, 0, 0]], atol=1e-6)


def test_a_correction_is_never_the_rejected_token_nor_an_impossible_one() -> None:
    p = mx.array([[0.0, 0.6, 0.0, 0.4]])
    q = mx.array([[0.5, 0.5, 0.0, 0.0]])
    _, follow = rejection_table(mx.concatenate([p, p]), q, uint(0), mx)
    drawn = np.array(Noise(4).draw(mx.broadcast_to(follow[:1], (2000, 4))))
    assert set(drawn.tolist()) <= {1, 3}


@pytest.mark.parametrize("table", [rejection_table, block_table])
def test_rows_of_any_size_of_number_give_coins_and_laws_and_never_nan(table: Any) -> None:
    """Laws with tails near the smallest floats, equal rows, and drafts that the target forbids."""
    for seed in range(40):
        p = mx.softmax(60 * logits(5, 12, seed), axis=-1)
        q = mx.softmax(60 * logits(4, 12, seed + 1000), axis=-1)
        mix = mx.array([0.0, 1.0, 0.5, 1e-7])[:, None]
        q = mix * p[:-1] + (1 - mix) * q
        drafted = Noise(seed).draw(q)
        coins, follow = (np.array(part) for part in table(p, q, drafted, mx))
        assert ((coins >= 0) & (coins <= 1)).all()
        assert (follow >= 0).all()
        np.testing.assert_allclose(follow.sum(axis=-1), 1, atol=1e-5)


@pytest.mark.parametrize("rule", [reject, block])
def test_a_vocabulary_of_150000_needs_a_few_copies_of_its_rows_and_no_more(rule: Any) -> None:
    k, v = 4, 150_000
    p, q = mx.softmax(logits(k + 1, v), axis=-1), mx.softmax(logits(k, v, seed=1), axis=-1)
    drafted = mx.argmax(q, axis=-1)
    mx.eval(p, q, drafted)
    mx.clear_cache()
    mx.reset_peak_memory()
    before = mx.get_active_memory()
    n, token = rule(p, q, drafted, Noise(0), mx)
    mx.eval(n, token)
    assert mx.get_peak_memory() - before <= 8 * p.nbytes
    assert 0 <= token.item() < v


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_full_precision_round_accepts_what_the_target_is_sure_of(temperature: float) -> None:
    sure = mx.where(mx.arange(V) == mx.array([[1], [4], [0]]), 60.0, 0.0)
    for laws in (None, mx.softmax(sure[:2], axis=-1)):
        outcome = verify(
            [2], Draft(uint(1, 4), laws), lambda ids: sure, Sampler(Sampling(temperature=temperature, seed=0))
        )
        assert outcome.emitted == [1, 4, 0]
