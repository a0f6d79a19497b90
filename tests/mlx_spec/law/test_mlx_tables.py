"""The acceptance table on MLX float32 rows equals the exact one to 1e-6, for the whole battery."""

from __future__ import annotations

from itertools import product

import mlx.core as mx
import numpy as np
import pytest

from mlx_spec.acceptance import leading, match, rejection_table

from .toys import PROMPT, TARGETS, Source, Target, array, sources, tokens

K = 2
PAIRS = [(t, s) for t in TARGETS for s in sources(t) if s.sampled and not s.withheld]


def rounds(target: Target, source: Source):
    """Exact rows p (K+1, V), q (K, V) and every possible draft, after each prefix of the toy."""
    v = target.vocabulary
    for before in product(range(v), repeat=2):
        for drafted in product(range(v), repeat=K):
            prefixes = [PROMPT + before + drafted[:i] for i in range(K + 1)]
            laws = [source.law(prefix) for prefix in prefixes[:-1]]
            if all(law is not None and law[x] > 0 for law, x in zip(laws, drafted, strict=True)):
                yield array([target.law(prefix) for prefix in prefixes]), array(laws), tokens(drafted)


def to_mlx(rows: np.ndarray) -> mx.array:
    return mx.array(rows.astype(np.float32))


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair[0].name}-{pair[1].name}")
def test_mlx_rows_equal_the_exact_table(pair: tuple[Target, Source]) -> None:
    for p, q, drafted in rounds(*pair):
        exact_accept, exact_follow = rejection_table(p, q, drafted, np)
        accept, follow = rejection_table(to_mlx(p), to_mlx(q), mx.array(drafted), mx)
        assert accept.dtype == follow.dtype == mx.float32
        np.testing.assert_allclose(np.array(accept), exact_accept.astype(float), atol=1e-6)
        # A row is used only after a rejection; where that cannot happen, rounding may leave any law.
        used = np.append(exact_accept < 1, True)
        np.testing.assert_allclose(np.array(follow)[used], exact_follow.astype(float)[used], atol=1e-6)
        np.testing.assert_allclose(np.array(follow).sum(axis=-1), 1, atol=1e-6)


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
