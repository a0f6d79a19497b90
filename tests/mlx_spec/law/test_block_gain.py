"""Block verification never accepts less than token-wise rejection: exactly, toy by toy.

`pytest -rP` prints the gain by K over the toys; `python -m bench.studies.block_gain` that of larger pairs.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest

from bench.studies.block_gain import MOST_K, accepted, table
from bench.studies.block_gain import PAIRS as LARGE

from .loop import honest
from .toys import PROMPT, SKEWED, TARGETS, Prefix, Source, Target, sources

PAIRS = [(t, s) for t in TARGETS for s in sources(t) if s.reports]
ZERO = Fraction(0)


def prefixes(target: Target) -> list[Prefix]:
    return [(*PROMPT, before) for before in range(target.vocabulary)]


def most_k(target: Target) -> int:
    return 4 if target.vocabulary == 2 else 2


def expected(target: Target, source: Source, prefix: Prefix, k: int, rule: str) -> Fraction:
    """Accepted tokens of a round, exactly."""
    return sum((w * b.accepted for b, w in honest(target, source, rule).law(prefix, k).items()), ZERO)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair[0].name}-{pair[1].name}")
def test_block_never_accepts_less(pair: tuple[Target, Source]) -> None:
    for prefix in prefixes(pair[0]):
        for k in range(1, most_k(pair[0]) + 1):
            token_wise, block = (expected(*pair, prefix, k, rule) for rule in ("token-wise", "block"))
            assert block >= token_wise
            assert k > 1 or block == token_wise


@pytest.mark.slow
@pytest.mark.parametrize(
    "pair",
    [p for p in PAIRS if 2 < p[0].vocabulary < 4 and p[0].order],
    ids=lambda p: f"{p[0].name}-{p[1].name}",
)
def test_block_never_accepts_less_at_larger_k(pair: tuple[Target, Source]) -> None:
    for prefix in prefixes(pair[0]):
        for k in (3, 4):
            token_wise, block = (expected(*pair, prefix, k, rule) for rule in ("token-wise", "block"))
            assert block >= token_wise


def test_block_accepts_more_on_many_toys() -> None:
    """Prints the mean over toys by K, and the toy that gains most."""
    for k in (2, 3, 4):
        means: defaultdict[str, Fraction] = defaultdict(Fraction)
        gains = []
        toys = [pair for pair in PAIRS if most_k(pair[0]) >= k]
        for pair in toys:
            token_wise, block = (expected(*pair, PROMPT, k, rule) for rule in ("token-wise", "block"))
            means["token-wise"] += token_wise / len(toys)
            means["block"] += block / len(toys)
            gains.append((block - token_wise, f"{pair[0].name}/{pair[1].name}"))
        more = sum(gain > 0 for gain, _ in gains)
        gain, name = max(gains)
        print(  # noqa: T201
            f"K={k}: {float(means['token-wise']):.3f} accepted token-wise, "
            f"{float(means['block']):.3f} by block; "
            f"more on {more} of {len(toys)} toys, at most +{float(gain):.3f} ({name})"
        )
        assert more >= 3


@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize("name", ["near", "level", "uniform", "sharp", "holed"])
def test_the_benchs_shortcut_is_the_enumerated_round(name: str, k: int) -> None:
    """The sums over drafts equal what the rules themselves accept, all coins and draws played out.

    The toy looks at its last two tokens; with the first of them in the state it is a Markov chain.
    """
    source = next(s for s in sources(SKEWED) if s.name == name)
    states = [(a, b) for a in range(2) for b in range(2)]
    p, q = np.zeros((4, 4)), np.zeros((4, 4))
    for i, state in enumerate(states):
        for token in range(2):
            then = states.index((state[1], token))
            law = source.law(state)
            assert law is not None
            p[i, then], q[i, then] = float(SKEWED.law(state)[token]), float(law[token])
    start = states.index((PROMPT[-2], PROMPT[-1]))
    for by, rule in zip(accepted(p, q, k, start), ("token-wise", "block"), strict=True):
        assert by[-1] == pytest.approx(float(expected(SKEWED, source, PROMPT, k, rule)), abs=1e-12)


@pytest.mark.parametrize("pair", LARGE[:6], ids=str)
def test_larger_pairs_gain_more_with_k(pair) -> None:  # type: ignore[no-untyped-def]
    token_wise, block = accepted(*pair.laws(0), most=3)
    gains = [b - t for t, b in zip(token_wise, block, strict=True)]
    assert gains[0] == pytest.approx(0, abs=1e-12)
    assert 0 < gains[1] < gains[2]


def test_the_table_has_a_row_for_each_pair_and_a_column_for_each_k() -> None:
    lines = table(LARGE[:2], seeds=1).splitlines()
    assert len(lines) == 4
    assert all(line.count("|") == MOST_K + 3 for line in lines)
