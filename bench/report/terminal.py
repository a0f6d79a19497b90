"""The report on a terminal: a table, a plot of speedups, and what follows from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from bench.conclusions import conclusions
from bench.findings import Findings
from bench.record import Record
from bench.report import table
from bench.report.head import title
from bench.statistics import Estimate

WIDTH = 46  # of the plot
_TICKS = (0.125, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 8.0)
_COLUMNS = (*table.SPEED, *table.WAITING)


def report(record: Record, findings: Findings) -> str:
    """All of it, as lines of text."""
    lines = [title(record, findings), "", *aligned(table.ways(findings, _COLUMNS)), "", *plot(findings), ""]
    lines += conclusions(findings)
    lines += [f"Caution: {sentence}" for sentence in findings.cautions]
    return "\n".join(lines) + "\n"


def aligned(content: table.Table) -> Iterator[str]:
    """A table in columns: names to the left, numbers to the right."""
    cells = [content.heads, *content.rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for name, *numbers in cells:
        right = [number.rjust(width) for number, width in zip(numbers, widths[1:], strict=True)]
        yield "  ".join([name.ljust(widths[0]), *right]).rstrip()


def plot(findings: Findings) -> Iterator[str]:
    """Speedups with their intervals on a logarithmic scale, and a line at 1."""
    known = [row.speedup for row in findings.rows if row.speedup]
    low = min([0.8, *(max(each.low, each.value / 3) for each in known)])
    high = max([1.25, *(min(each.high, each.value * 3) for each in known)])
    room = max(len(row.way.name) for row in findings.rows) + 2

    def at(value: float) -> int:
        return round((WIDTH - 1) * math.log(value / low) / math.log(high / low))

    scale = [" "] * (WIDTH + 4)
    for tick in _TICKS:
        if low <= tick <= high and all(cell == " " for cell in scale[max(at(tick) - 1, 0) : at(tick) + 5]):
            scale[at(tick) : at(tick) + len(f"{tick:g}")] = f"{tick:g}"
    yield " " * room + "".join(scale).rstrip()
    for row in findings.rows:
        yield row.way.name.ljust(room) + _bar(row.speedup or Estimate(1.0, 1.0, 1.0), at)


def _bar(estimate: Estimate, at: Callable[[float], int]) -> str:
    cells = [" "] * WIDTH
    cells[at(1.0)] = "│"
    if estimate.bounded:
        first, last = max(at(estimate.low), 0), min(at(estimate.high), WIDTH - 1)
        cells[first : last + 1] = "─" * (last - first + 1)
        cells[first], cells[last] = "├", "┤"
    cells[at(estimate.value)] = "●"
    return "".join(cells).rstrip()
