"""Drawing: a chart is a list of SVG elements in a box as wide as a phone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

WIDTH, HEIGHT = 360.0, 250.0  # units: one is a pixel on a phone
LEFT, RIGHT, TOP, BOTTOM = 42.0, 14.0, 28.0, 44.0
# Corners of a mark around its middle: octagon, square, triangle, diamond.
_SHAPES = (
    ((-2, -5), (2, -5), (5, -2), (5, 2), (2, 5), (-2, 5), (-5, 2), (-5, -2)),
    ((-4, -4), (4, -4), (4, 4), (-4, 4)),
    ((0, -5), (5, 4), (-5, 4)),
    ((0, -6), (6, 0), (0, 6), (-6, 0)),
)
SERIES = len(_SHAPES)  # that can be told apart; more begin again


@dataclass
class Chart:
    """An SVG image with a title and a description for those who do not see it.

    Attributes:
        name: makes ids unique on a page.
        title, description: for a screen reader.
        height: units.
    """

    name: str
    title: str
    description: str
    height: float = HEIGHT
    _parts: list[str] = field(default_factory=list)

    def line(self, points: Sequence[tuple[float, float]], style: str) -> None:
        """A line through points, in units."""
        where = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._parts.append(f'<polyline class="{style}" points="{where}"/>')

    def text(self, x: float, y: float, words: str, style: str = "label", anchor: str = "middle") -> None:
        self._parts.append(
            f'<text class="{style}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'
        )

    def bar(self, x: float, y: float, width: float, height: float, style: str, words: str) -> None:
        """A filled box that says what it is when pointed at."""
        self._parts.append(
            f'<rect class="{style}" x="{x:.1f}" y="{y:.1f}" '
            f'width="{max(width, 0):.1f}" height="{height:.1f}">'
            f"<title>{escape(words)}</title></rect>"
        )

    def mark(self, x: float, y: float, series: int, words: str) -> None:
        """A mark whose shape tells the series as well as its colour does."""
        corners = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in _SHAPES[series % SERIES])
        style = f"fill{series % SERIES}"
        self._parts.append(
            f'<polygon class="{style}" points="{corners}"><title>{escape(words)}</title></polygon>'
        )

    def render_key(self) -> str:
        """As a small picture beside its name, which says all that there is to say."""
        return f'<svg class="key" viewBox="0 0 14 14" aria-hidden="true">{"".join(self._parts)}</svg>'

    def render(self) -> str:
        ids = f"{self.name}-title", f"{self.name}-description"
        return (
            f'<svg id="{self.name}" viewBox="0 0 {WIDTH:.0f} {self.height:.0f}" role="img" '
            f'aria-labelledby="{ids[0]} {ids[1]}">'
            f'<title id="{ids[0]}">{escape(self.title)}</title>'
            f'<desc id="{ids[1]}">{escape(self.description)}</desc>{"".join(self._parts)}</svg>'
        )


@dataclass(frozen=True)
class Scale:
    """From values to units, linear or logarithmic."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        low, high = self.low, self.high
        if self.logarithmic:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return self.start + (value - low) / (high - low) * (self.end - self.start)


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers between two others, evenly spaced."""
    step = 10.0 ** math.floor(math.log10((high - low) / most))
    factor = next(f for f in (1, 2, 2.5, 5, 10) if (high - low) / (f * step) <= most)
    step *= factor
    first = math.ceil(low / step - 1e-9)
    return [step * i for i in range(first, math.floor(high / step + 1e-9) + 1)]
