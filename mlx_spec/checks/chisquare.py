"""Pearson's chi-square test of counts against a law, and what it would have noticed. No MLX."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

LEAST_EXPECTED = 25.0  # counts expected in a bin, for the chi-square law to hold far out in its tail


@dataclass(frozen=True)
class Fit:
    """How well counts fit a law.

    Attributes:
        p_value: chance of counts at least this far off if the law is right; 0 if an outcome came up
            that the law forbids.
        bins: outcomes, the rare ones pooled into one.
    """

    p_value: float
    bins: int


def fit(counts: np.ndarray, law: np.ndarray) -> Fit:
    """Test `counts` (V,) of independent draws against `law` (V,)."""
    if counts[law <= 0].any():
        return Fit(0.0, 0)
    draws = counts.sum()
    expected = law * (draws / law.sum())
    frequent = expected >= LEAST_EXPECTED
    seen, hoped = counts[frequent].astype(float), expected[frequent]
    rare_seen, rare_hoped = counts[~frequent].sum(), expected[~frequent].sum()
    if rare_hoped >= LEAST_EXPECTED or not len(hoped):
        seen, hoped = np.append(seen, rare_seen), np.append(hoped, rare_hoped)
    else:  # too rare for a bin of their own even together
        least = hoped.argmin()
        seen[least] += rare_seen
        hoped[least] += rare_hoped
    if len(hoped) < 2:
        return Fit(1.0, 1)
    statistic = float(((seen - hoped) ** 2 / hoped).sum())
    return Fit(survival(statistic, len(hoped) - 1), len(hoped))


def detectable(bins: int, draws: int, level: float, power: float) -> float:
    """The total variation between true and claimed law, over the bins, noticed with chance `power`.

    Whatever its shape: with d the difference of the laws, the test's noncentrality is
    draws * sum(d^2 / p), which is at least draws * (sum |d|)^2 = 4 * draws * TV^2.

    Args:
        bins: at least 2.
        draws: independent draws.
        level: p-values below this count as noticed.
        power: chance, for example 0.95.
    """
    freedom = bins - 1
    critical = _root(lambda x: survival(x, freedom) - level)
    noncentrality = _root(lambda x: power - _noncentral_survival(critical, freedom, x))
    return math.sqrt(noncentrality / (4 * draws))


def survival(x: float, freedom: int) -> float:
    """P(chi-square with `freedom` >= 1 degrees exceeds x), by its finite series."""
    if x <= 0:
        return 1.0
    half = x / 2
    if freedom % 2:
        total, term, at = math.erfc(math.sqrt(half)), math.exp(-half) * math.sqrt(half / math.pi) * 2, 1.5
        first = 3
    else:
        total, term, at = math.exp(-half), math.exp(-half) * half, 2.0
        first = 4
    for _ in range(first, freedom + 1, 2):
        total += term
        term *= half / at
        at += 1
    return min(total, 1.0)


def _noncentral_survival(x: float, freedom: int, noncentrality: float) -> float:
    """The same with a noncentrality: a Poisson mixture of central laws."""
    mean = noncentrality / 2
    spread = int(10 * math.sqrt(mean + 1)) + 10
    total = 0.0
    for j in range(max(int(mean) - spread, 0), int(mean) + spread):
        weight = math.exp(j * math.log(mean) - mean - math.lgamma(j + 1)) if mean > 0 else float(j == 0)
        total += weight * survival(x, freedom + 2 * j)
    return total


def _root(falling: Callable[[float], float]) -> float:
    """Where a falling function of a positive number crosses 0."""
    low, high = 0.0, 1.0
    while falling(high) > 0:
        low, high = high, 2 * high
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return high
