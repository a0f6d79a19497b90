"""Exact binomial intervals for tests of seeded dice."""

from __future__ import annotations

import math


def interval(n: int, p: float, level: float = 0.999) -> tuple[int, int]:
    """The central interval of a binomial count that holds at least `level` of its probability."""
    if p <= 0 or p >= 1:
        return (0, 0) if p <= 0 else (n, n)
    tail = (1 - level) / 2
    log_p, log_not = math.log(p), math.log1p(-p)
    below, low, high = 0.0, 0, n
    for count in range(n + 1):
        log_ways = math.lgamma(n + 1) - math.lgamma(count + 1) - math.lgamma(n - count + 1)
        at = math.exp(log_ways + count * log_p + (n - count) * log_not)
        if below + at <= tail:
            low = count + 1
        below += at
        if below >= 1 - tail:
            high = count
            break
    return low, high


def plausible(count: int, n: int, p: float) -> bool:
    """Whether `count` of `n` is within the 99.9% interval of probability `p`."""
    low, high = interval(n, p)
    return low <= count <= high
