"""The report on a terminal: a table, a plot of speedups, and what follows from them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from bench.conclusions import conclusions
from bench.findings import Findings
from bench.record import Record
from bench.report import table
from bench.statistics import Estimate
from bench.words import plural

WIDTH = 46  # of the plot
_TICKS = (0.125, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 8.0)
_COLUMNS = (*table.SPEED, *table.WAITING)


def report(record: Record, findings: Findings) -> str:
    """All of it, as lines of text."""
    lines = [head(record, findings), "", *aligned(table.ways(findings, _COLUMNS)), "", *plot(findings), ""]
    lines += conclusions(findings)
    lines += [f"Caution: {sentence}" for sentence in findings.cautions]
    return "\n".join(lines) + "\n"


def head(record: Record, findings: Findings) -> str:
    """What was measured, in one line."""
    design = record.design
    draft = f", draft {design.draft['name']}" if design.draft else ""
    return (
        f"{design.model['name']} ({design.model['quantization'] or design.model['dtype']}){draft}: "
        f"{plural(findings.prompts, 'prompt')}, {plural(findings.blocks, 'block')}, "
        f"at most {design.tokens} tokens"
    )


def aligned(content: table.Table) -> Iterator[str]:
    """A table in columns: names to the left, numbers to the right."""
    cells = [content.heads, *content.rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        name, *numbers = (cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in _sized(row, widths))
        yield "  ".join([name, *numbers]).rstrip()


def _sized(row: Sequence[str], widths: Sequence[int]) -> Iterator[tuple[int, tuple[str, int]]]:
    return enumerate(zip(row, widths, strict=True))


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


def _bar(estimate: Estimate, at: object) -> str:
    assert callable(at)
    cells = [" "] * WIDTH
    cells[at(1.0)] = "│"
    if estimate.bounded:
        first, last = max(at(estimate.low), 0), min(at(estimate.high), WIDTH - 1)
        cells[first : last + 1] = "─" * (last - first + 1)
        cells[first], cells[last] = "├", "┤"
    cells[at(estimate.value)] = "●"
    return "".join(cells).rstrip()
