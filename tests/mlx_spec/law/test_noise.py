"""Seeded noise: right frequencies, no draw used twice, repeatable by its seed."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest

from mlx_spec import acceptance
from mlx_spec.noise import Noise

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


PAIRS = {
    "close": ([0.5, 0.3, 0.2], [0.4, 0.4, 0.2]),
    "far": ([0.9, 0.05, 0.05], [0.05, 0.05, 0.9]),
    "disjoint": ([0.5, 0.5, 0.0], [0.0, 0.0, 1.0]),
    "equal": ([0.7, 0.2, 0.1], [0.7, 0.2, 0.1]),
}


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS.keys())
def test_rejection_accepts_as_often_as_the_laws_overlap(pair: tuple[list[float], list[float]]) -> None:
    p, q = pair
    dice = Noise(21)
    drafted = dice.draw(repeated(q))
    accept, _ = acceptance.rejection_table(repeated(p, N + 1), repeated(q), drafted, mx)
    accepted = int(dice.flip(accept).sum().item())
    overlap = sum(map(min, p, q))
    assert plausible(accepted, N, round(overlap, 6))


def test_a_sampled_round_accepts_and_emits_by_the_laws() -> None:
    """Whole rounds with K=2, counted: how many are accepted, and which token comes first."""
    p, q = PAIRS["close"]
    dice, n = Noise(8), 800
    rounds = []
    for _ in range(n):
        drafted = dice.draw(repeated(q, 2))
        accepted, token = acceptance.reject(repeated(p, 3), repeated(q, 2), drafted, dice, mx)
        rounds.append(mx.concatenate([drafted, accepted[None].astype(mx.uint32), token[None]]))
    table = np.array(mx.stack(rounds))
    share = sum(map(min, p, q))
    for count, probability in enumerate([1 - share, share * (1 - share), share * share]):
        assert plausible(int((table[:, 2] == count).sum()), n, probability)
    first = np.where(table[:, 2] > 0, table[:, 0], table[:, 3])
    for token, probability in enumerate(p):
        assert plausible(int((first == token).sum()), n, probability)


@pytest.mark.parametrize("token", [0, 1, 2])
def test_match_accepts_a_fixed_draft_with_its_probability(token: int) -> None:
    p = [0.7, 0.0, 0.3]
    drawn = Noise(30 + token).draw(repeated(p))
    assert plausible(int((drawn == token).sum().item()), N, p[token])
    n, follow = acceptance.match(drawn[:2], mx.array([token], dtype=mx.uint32), mx)
    assert (int(n.item()), int(follow.item())) == (
        (1, drawn[1].item()) if drawn[0].item() == token else (0, drawn[0].item())
    )


def test_the_interval_holds_what_it_says() -> None:
    assert interval(10, 0.0) == (0, 0)
    assert interval(10, 1.0) == (10, 10)
    low, high = interval(4000, 0.5)
    assert 1890 < low < 1900
    assert low + high == 4000
