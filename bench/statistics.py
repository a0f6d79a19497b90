"""How much faster one way of decoding is than another, and how sure that is.

Machines drift: heat and neighbours change their speed by more than the effects that are measured
here. So the two ways take turns on the same prompt, the pair is the unit, and a slow minute slows
both of its halves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Estimate:
    """A value with the interval that holds it with the confidence asked for."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Timing:
    """A stretch of decoding.

    Attributes:
        tokens: how many tokens `seconds` paid for.
        seconds: wall time.
    """

    tokens: int
    seconds: float

    def __add__(self, other: Timing) -> Timing:
        return Timing(self.tokens + other.tokens, self.seconds + other.seconds)


def tokens_per_second(timings: Sequence[Timing]) -> float:
    """All tokens over all seconds."""
    return sum(t.tokens for t in timings) / sum(t.seconds for t in timings)


def speedup(
    ours: Sequence[Timing],
    baseline: Sequence[Timing],
    *,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Estimate:
    """Our tokens a second over the baseline's, with a percentile bootstrap interval over pairs.

    Args:
        ours: one timing for each pair, in the order of `baseline`.
        baseline: the same work done the other way.
        confidence: mass of the interval.
        resamples: how often the pairs are drawn anew, with replacement.
        seed: of those draws.

    Raises:
        ValueError: the two have different lengths, or there are fewer than two pairs.
    """
    if len(ours) != len(baseline):
        raise ValueError(f"{len(ours)} timings cannot be paired with {len(baseline)}")
    if len(ours) < 2:
        raise ValueError("an interval needs at least two pairs")
    # (pairs, 4): tokens and seconds of ours, then of the baseline.
    pairs = np.array(
        [(a.tokens, a.seconds, b.tokens, b.seconds) for a, b in zip(ours, baseline, strict=True)]
    )
    drawn = np.random.default_rng(seed).integers(len(pairs), size=(resamples, len(pairs)))
    ratios = _ratio(pairs[drawn].sum(axis=1))
    low, high = np.quantile(ratios, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Estimate(float(_ratio(pairs.sum(axis=0))), float(low), float(high))


def _ratio(totals: np.ndarray) -> np.ndarray:
    tokens, seconds, base_tokens, base_seconds = np.moveaxis(totals, -1, 0)
    return (tokens / seconds) / (base_tokens / base_seconds)


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
