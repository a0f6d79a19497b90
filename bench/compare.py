"""Two sweeps side by side: how the speedup of each way changed from one to the other.

The two were measured at different times, so only their ratios to their own baselines are compared;
tokens a second are shown and left at that.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from bench.environment import differing
from bench.findings import complete_blocks, timings_of
from bench.record import Record
from bench.report.table import Table
from bench.statistics import Bootstrap, Estimate, ratio


@dataclass(frozen=True)
class Change:
    """One way in both sweeps.

    Attributes:
        way: its name.
        before, after: tokens a second.
        before_speedup, after_speedup: over the sweep's own baseline; None for the baseline.
        change: of that speedup, as a ratio.
    """

    way: str
    before: float
    after: float
    before_speedup: Estimate | None
    after_speedup: Estimate | None
    change: Estimate | None

    def as_json(self) -> dict[str, Any]:
        ratios = ("before_speedup", "after_speedup", "change")
        return {
            **asdict(self),
            **{name: r.as_json() if (r := getattr(self, name)) else None for name in ratios},
        }


def compare(a: Record, b: Record) -> list[Change]:
    """Every way that both sweeps have, in the order of the first."""
    here, there = _bootstrap(a), _bootstrap(b)
    apart = _bootstrap(b, seed=1)  # drawn by itself, as it was measured by itself
    places = {way.name: i for i, way in enumerate(b.design.ways)}
    changes = []
    for i, way in enumerate(a.design.ways):
        if (j := places.get(way.name)) is None:
            continue
        timed = bool(i and j)
        changes.append(
            Change(
                way=way.name,
                before=here.speed(i),
                after=there.speed(j),
                before_speedup=here.ratio(i, 0) if timed else None,
                after_speedup=there.ratio(j, 0) if timed else None,
                change=apart.over(here, (j, 0), (i, 0)) if timed else None,
            )
        )
    return changes


def differences(a: Record, b: Record) -> list[str]:
    """What else differs between the two, so that a change may be due to it."""
    said = []
    if difference := b.design.difference(a.design):
        said.append(f"The second sweep has {difference}.")
    said += [f"Not the same: {what}." for what in differing(a.environment, b.environment)]
    return said


def as_table(changes: list[Change]) -> Table:
    """The changes as text."""
    return Table(
        "Second sweep over the first",
        ["way", "tok/s", "then", "speedup", "then", "change"],
        [
            [
                change.way,
                f"{change.before:.2f}",
                f"{change.after:.2f}",
                ratio(change.before_speedup),
                ratio(change.after_speedup),
                ratio(change.change),
            ]
            for change in changes
        ],
    )


def _bootstrap(record: Record, seed: int = 0) -> Bootstrap:
    return Bootstrap(timings_of(complete_blocks(record), record.design.ways), seed=seed)
