"""A number that is not known well, and arithmetic on such numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Range:
    """A number that is not known well.

    Sums and quotients take two ranges as independent, so they are never too narrow.

    Attributes:
        low, mid, high: the smallest, the likeliest and the largest that is expected.
    """

    low: float
    mid: float
    high: float

    @classmethod
    def exactly(cls, value: float) -> Range:
        """A number that is known."""
        return cls(value, value, value)

    @classmethod
    def spanning(cls, values: Sequence[float]) -> Range:
        """From the smallest to the largest of positive values, with their geometric middle."""
        return cls(min(values), math.sqrt(min(values) * max(values)), max(values))

    def map(self, growing: Callable[[float], float]) -> Range:
        """What a growing function makes of it."""
        return Range(growing(self.low), growing(self.mid), growing(self.high))

    def __add__(self, other: Range) -> Range:
        return Range(self.low + other.low, self.mid + other.mid, self.high + other.high)

    def __mul__(self, factor: float) -> Range:
        """`factor` must not be negative."""
        return Range(self.low * factor, self.mid * factor, self.high * factor)

    def __truediv__(self, other: Range) -> Range:
        """Both must be positive."""
        return Range(self.low / other.high, self.mid / other.mid, self.high / other.low)
