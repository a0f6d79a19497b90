"""Seeded noise: right frequencies, no draw used twice, repeatable by its seed."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest

from mlx_spec.law.noise import Noise

from .dice_statistics import interval, plausible

N = 4000
LAW = [0.5, 0.0, 0.25, 0.2, 0.05]


def repeated(row: list[float], n: int = N) -> mx.array:
    return mx.broadcast_to(mx.array(row), (n, len(row)))


@pytest.mark.parametrize("seed", [0, 1, 2**63, 2**64 - 1])
def test_draws_have_the_frequencies_of_the_law(seed: int) -> None:
    drawn = np.array(Noise(seed).draw(repeated(LAW)))
    for token, p in enumerate(LAW):
        assert plausible(int((drawn == token).sum()), N, p), token


@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1])
def test_flips_have_the_frequencies_of_their_probabilities(seed: int) -> None:
    dice = Noise(seed)
    for p in (0.0, 0.001, 0.3, 0.5, 0.97, 1.0):
        assert plausible(int(dice.flip(mx.full((N,), p)).sum().item()), N, p), p


def test_what_is_impossible_never_happens_and_what_is_certain_always() -> None:
    dice = Noise(3)
    n = 1_000_000
    assert int(dice.flip(mx.zeros((n,))).sum().item()) == 0
    assert int(dice.flip(mx.ones((n,))).sum().item()) == n
    assert (np.array(dice.draw(repeated([0.0, 1.0, 0.0], n // 4))) == 1).all()


@pytest.mark.slow
def test_a_flat_tail_of_rare_tokens_is_drawn_as_often_as_it_is_due() -> None:
    """150,000 tokens with 2e-8 each: a tail that a coarse uniform number cuts off."""
    v, mass, n = 150_000, 3e-3, 6000
    row = np.full(v, mass / (v - 1), np.float32)
    row[7] = 1 - mass
    dice, rows = Noise(0), mx.broadcast_to(mx.array(row), (24, v))
    rare = sum(int((dice.draw(rows) != 7).sum().item()) for _ in range(n // 24))
    assert plausible(rare, n, mass)


def test_rows_calls_flips_and_draws_are_independent() -> None:
    dice = Noise(11)
    half = repeated([0.5, 0.5])
    bits = [
        np.array(dice.draw(half)),
        np.array(dice.draw(half)),
        np.array(dice.flip(mx.full((N,), 0.5))),
        np.array(dice.flip(mx.full((N,), 0.5))),
    ]
    bits += [np.roll(bits[0], 1), np.roll(bits[2], 1)]  # neighbouring rows of one call
    for i, one in enumerate(bits):
        for other in bits[:i]:
            assert plausible(int((one == other).sum()), N, 0.5)


def test_a_seed_repeats_every_draw_in_order() -> None:
    one, other = Noise(5), Noise(5)
    for _ in range(3):
        assert one.draw(repeated(LAW)).tolist() == other.draw(repeated(LAW)).tolist()
        assert one.flip(mx.full((N,), 0.5)).tolist() == other.flip(mx.full((N,), 0.5)).tolist()


def test_other_seeds_share_no_stream_not_even_a_call_later() -> None:
    calls = [Noise(seed).draw(repeated(LAW, 64)).tolist() for seed in range(6)]
    for seed in range(6):
        dice = Noise(seed)
        dice.draw(repeated(LAW, 64))
        calls.append(dice.draw(repeated(LAW, 64)).tolist())
    assert len({tuple(call) for call in calls}) == 12


def test_without_a_seed_each_generation_is_another() -> None:
    assert Noise().draw(repeated(LAW, 64)).tolist() != Noise().draw(repeated(LAW, 64)).tolist()


def test_mlx_random_state_is_neither_read_nor_moved() -> None:
    mx.random.seed(1)
    expected = mx.random.uniform(shape=(4,)).tolist()
    mx.random.seed(1)
    first = Noise(9).draw(repeated(LAW, 64)).tolist()
    assert mx.random.uniform(shape=(4,)).tolist() == expected
    assert Noise(9).draw(repeated(LAW, 64)).tolist() == first


# Noise that is keyed by position


def test_draws_at_positions_have_the_frequencies_of_the_law() -> None:
    drawn = np.array(Noise(4).draw_at(repeated(LAW), 0))
    for token, p in enumerate(LAW):
        assert plausible(int((drawn == token).sum()), N, p), token


def test_one_position_has_the_law_over_seeds() -> None:
    n = 2000
    drawn = np.array(mx.concatenate([Noise(seed).draw_at(mx.array([LAW]), 77) for seed in range(n)]))
    for token, p in enumerate(LAW):
        assert plausible(int((drawn == token).sum()), n, p), token


def test_positions_seeds_and_other_draws_are_independent() -> None:
    """Joint frequencies of every pair of tokens, against those of independent draws."""
    dice, rows = Noise(6), repeated(LAW)
    here = np.array(dice.draw_at(rows, 0))
    others = {
        "the next position": np.roll(here, -1),
        "two positions on": np.roll(here, -2),
        "another seed": np.array(Noise(7).draw_at(rows, 0)),
        "a draw without a position": np.array(dice.draw(rows)),
    }
    for name, there in others.items():
        for a, p in enumerate(LAW):
            for b, q in enumerate(LAW):
                both = int(((here == a) & (there == b)).sum())
                assert plausible(both, N, p * q), (name, a, b)


def test_a_position_keeps_its_noise_whatever_was_drawn_before_and_with_how_many_rows() -> None:
    rows = mx.softmax(mx.random.normal((6, 9), key=mx.random.key(1)), axis=-1)
    whole = Noise(5).draw_at(rows, 10).tolist()
    dice = Noise(5)
    dice.flip(mx.array([0.5]))
    dice.draw(rows)
    assert [dice.draw_at(rows[i : i + 1], 10 + i).item() for i in reversed(range(6))] == whole[::-1]


def test_laws_that_are_close_draw_close_to_the_same() -> None:
    """What coupling is for: the draws of two laws differ about as rarely as the laws do."""
    other = [0.48, 0.0, 0.26, 0.2, 0.06]
    same = Noise(2).draw_at(repeated(LAW), 0) == Noise(2).draw_at(repeated(other), 0)
    assert same.mean().item() > 0.95


def test_the_interval_holds_what_it_says() -> None:
    assert interval(10, 0.0) == (0, 0)
    assert interval(10, 1.0) == (10, 10)
    low, high = interval(4000, 0.5)
    assert 1890 < low < 1900
    assert low + high == 4000
