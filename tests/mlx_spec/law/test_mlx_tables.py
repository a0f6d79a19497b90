"""The acceptance tables on MLX float32 rows equal the exact ones to 1e-6, for the whole battery."""

from __future__ import annotations

from itertools import product

import mlx.core as mx
import numpy as np
import pytest

from mlx_spec.law.acceptance import block_table, leading, match, rejection_table

from .toys import PROMPT, TARGETS, Source, Target, array, sources, tokens

TABLES = {"token-wise": rejection_table, "block": block_table}
PAIRS = [(t, s) for t in TARGETS for s in sources(t) if s.reports]


def rounds(target: Target, source: Source, k: int):  # type: ignore[no-untyped-def]
    """Exact rows p (K+1, V), q (K, V) and every possible draft, after each prefix of the toy."""
    v = target.vocabulary
    for before in product(range(v), repeat=2 if v < 4 else 1):
        for drafted in product(range(v), repeat=k):
            prefixes = [PROMPT + before + drafted[:i] for i in range(k + 1)]
            laws = [source.law(prefix) for prefix in prefixes[:-1]]
            if all(law is not None and law[x] > 0 for law, x in zip(laws, drafted, strict=True)):
                yield array([target.law(prefix) for prefix in prefixes]), array(laws), tokens(drafted)


def to_mlx(rows: np.ndarray) -> mx.array:
    return mx.array(rows.astype(np.float32))


def outcome(table: str, coins: np.ndarray, follow: np.ndarray) -> np.ndarray:
    """(K+1, V): how likely n drafted tokens stand and a given token follows them."""
    k = len(coins)
    if table == "token-wise":
        stands = [np.prod(coins[:n]) * (1 - coins[n] if n < k else 1) for n in range(k + 1)]
    else:
        stands = [(coins[n - 1] if n else 1) * np.prod(1 - coins[n:]) for n in range(k + 1)]
    return np.array(stands)[:, None] * follow


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair[0].name}-{pair[1].name}")
def test_mlx_rows_equal_the_exact_table(pair: tuple[Target, Source], table: str) -> None:
    for p, q, drafted in rounds(*pair, k=2 if pair[0].vocabulary > 2 else 3):
        exact_coins, exact_follow = (part.astype(float) for part in TABLES[table](p, q, drafted, np))
        on_mlx = TABLES[table](to_mlx(p), to_mlx(q), mx.array(drafted), mx)
        assert [part.dtype for part in on_mlx] == [mx.float32, mx.float32]
        coins, follow = (np.array(part, dtype=float) for part in on_mlx)
        # Near-equal laws leave a block's inner coins a little over a little, to fewer digits. What
        # counts is the law of the round: how likely this draft is, stands so far, and so goes on.
        drawn = float(np.prod(np.take_along_axis(q, drafted[:, None], axis=-1)))
        ours, exact = outcome(table, coins, follow), outcome(table, exact_coins, exact_follow)
        np.testing.assert_allclose(drawn * ours, drawn * exact, atol=1e-6)
        np.testing.assert_allclose(coins, exact_coins, atol=1e-6 if table == "token-wise" else 1e-5)
        np.testing.assert_allclose(follow.sum(axis=-1), 1, atol=1e-6)


@pytest.mark.parametrize("kept", list(product([False, True], repeat=3)))
def test_leading_counts_up_to_the_first_rejection(kept: tuple[bool, ...]) -> None:
    expected = next((i for i, one in enumerate(kept) if not one), len(kept))
    assert int(leading(np.array(kept), np)) == expected
    assert leading(mx.array(kept), mx).item() == expected


def test_match_is_the_same_on_both() -> None:
    for drawn in product(range(2), repeat=4):
        for drafted in product(range(2), repeat=3):
            exact = match(tokens(drawn), tokens(drafted), np)
            mlx = match(mx.array(tokens(drawn)), mx.array(tokens(drafted)), mx)
            assert [int(x) for x in exact] == [x.item() for x in mlx]
