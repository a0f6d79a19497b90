"""Rates of counts, such as accepted of drafted, with intervals over rounds that are alike."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bench.statistics import Estimate


def rate(
    parts: Sequence[float],
    wholes: Sequence[float],
    *,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Estimate:
    """Sum of `parts` over sum of `wholes`, with a percentile bootstrap interval over their pairs."""
    return _estimate(*_rates(parts, wholes, resamples, seed), confidence)


def rate_ratio(
    ours: tuple[Sequence[float], Sequence[float]],
    baseline: tuple[Sequence[float], Sequence[float]],
    *,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Estimate:
    """Our rate over the baseline's; each is (parts, wholes), and the two are independent samples.

    Where the baseline's rate is 0, or may be, the ratio is unbounded: infinite.
    """
    value, drawn = _rates(*ours, resamples, seed)
    base, base_drawn = _rates(*baseline, resamples, seed + 1)
    bounded = np.divide(drawn, base_drawn, out=np.full_like(drawn, np.inf), where=base_drawn > 0)
    return _estimate(value / base if base > 0 else float("inf"), bounded, confidence)


def _rates(
    parts: Sequence[float], wholes: Sequence[float], resamples: int, seed: int
) -> tuple[float, np.ndarray]:
    pairs = np.array([parts, wholes], dtype=float).T
    drawn = np.random.default_rng(seed).integers(len(pairs), size=(resamples, len(pairs)))
    part, whole = np.moveaxis(pairs[drawn].sum(axis=1), -1, 0)
    return float(pairs[:, 0].sum() / pairs[:, 1].sum()), part / whole


def _estimate(value: float, drawn: np.ndarray, confidence: float) -> Estimate:
    # Interpolating between two infinities would give NaN, so the bounds are drawn values.
    low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2], method="nearest")
    return Estimate(value, float(low), float(high))
