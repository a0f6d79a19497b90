"""The side panel: what was measured, what was predicted, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.reactive import reactive
from textual.widgets import Static

from app.display import neutralise, shown
from app.speculation.timeline import Timeline
from app.thread.events import Snapshot
from app.tui.speculation import plot, verdict
from app.tui.speculation import timeline as course
from app.tui.terminal import palette
from mlx_spec.verdict.diagnose import Verdict

WIDTH = 42  # cells, frame included
ROOMY = 34  # lines that hold everything
COURSE = 11  # of them for K and speedup over the session
_BAR = 16  # cells of a full hazard


@dataclass(frozen=True)
class Insight:
    """What the panel shows; `rounds` changes with each, so that the panel is drawn again."""

    snapshot: Snapshot
    timeline: Timeline
    rounds: int


def lines(insight: Insight, width: int, height: int) -> Iterator[Text]:
    """The panel's lines for `width` cells; fewer of them where `height` lines cannot hold all."""
    roomy = height >= ROOMY
    found = insight.snapshot.verdict
    facts: dict[str, Any] = dict(found.facts) if found else {}
    parts = [
        _summary(found, facts),
        _costs(facts, insight.snapshot, roomy),
        _hazards(insight.snapshot),
        _course(insight.snapshot, insight.timeline, width, roomy),
    ]
    for number, part in enumerate(parts):
        if number and roomy:
            yield Text()
        yield from part


def _summary(found: Verdict | None, facts: dict[str, Any]) -> Iterator[Text]:
    yield Text(verdict.tags(found)[0], verdict.style(found)) if found else Text("-")
    yield Text(f"speedup   {_speedup(facts.get('speedup'))}")
    yield Text(f"predicted {shown(facts.get('predicted'), '{:.2f}x')}")


def _speedup(speedup: dict[str, float] | None) -> str:
    if not speedup:
        return "-"
    return f"{speedup['value']:.2f}x  [{speedup['low']:.2f}, {speedup['high']:.2f}] (95%)"


def _costs(facts: dict[str, Any], snapshot: Snapshot, roomy: bool) -> Iterator[Text]:
    yield Text("V(M): cost of M rows in single rows", palette.MUTED)
    costs = {int(m): cost for m, cost in (facts.get("verify_cost") or {}).items()}
    drawn = plot.cost_curve(costs, height=8 if roomy else 4)
    if not drawn:
        yield Text("too busy to be measured yet" if snapshot.spoilt else "not measured yet")
        return
    yield from map(Text, drawn)
    if roomy:
        yield Text(f"      {plot.LEGEND}", palette.MUTED)
        yield Text(f"serial index {shown(facts.get('serial_index'), '{:.2f}')} (1 is serial)")
    if snapshot.kernel and roomy:
        yield Text(neutralise(snapshot.kernel), palette.MUTED)


def _hazards(snapshot: Snapshot) -> Iterator[Text]:
    yield Text("Accepted at each position, if reached", palette.MUTED)
    if not snapshot.hazards:
        yield Text("nothing was drafted yet")
    for i, (hazard, tested) in enumerate(zip(snapshot.hazards, snapshot.tested, strict=True), start=1):
        bar = "█" * round((hazard or 0.0) * _BAR)
        yield Text(f"{i:>3} {bar:░<{_BAR}} {shown(hazard, '{:>4.0%}')} of {tested}")


def _course(snapshot: Snapshot, timeline: Timeline, width: int, roomy: bool) -> Iterator[Text]:
    yield Text(f"K now {snapshot.k}, {snapshot.state}", palette.MUTED)
    if not timeline.rounds:
        return
    if roomy:
        yield from course.lines(timeline, width, COURSE)
    else:
        yield from course.k_plot(timeline.columns(width - course.AXIS), 1)


class Panel(VerticalScroll):
    """Stands at the right, on wide terminals or when asked for. The wheel scrolls what has no room."""

    DEFAULT_CSS = f"""
    Panel {{
        display: none;
        width: {WIDTH};
        max-width: 60%;
        height: 1fr;
        padding: 0 2;
        border-left: solid $panel;
        scrollbar-size-vertical: 0;
    }}
    """

    can_focus = False
    insight: reactive[Insight | None] = reactive(None)

    def compose(self) -> ComposeResult:
        """One block of text."""
        yield Static("-")

    def watch_insight(self) -> None:
        """Write it anew, if anybody sees it."""
        if self.insight is not None and self.display and self.is_mounted:
            size = self.scrollable_content_region
            text = Text("\n").join(lines(self.insight, size.width, size.height))
            self.query_one(Static).update(text)

    def on_resize(self) -> None:
        """Another size may hold more."""
        self.watch_insight()
