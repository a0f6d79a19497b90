"""The side panel: what was measured, what was predicted, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import Any

from rich.cells import cell_len
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from app.display import neutralise, shown
from app.speculation.timeline import Timeline
from app.thread.events import Snapshot
from app.tui.speculation import plot, verdict
from app.tui.speculation import timeline as course
from app.tui.terminal import palette
from mlx_spec.verdict.diagnose import Verdict

WIDTH = 42  # cells, frame included
COURSE = 11  # lines for K and speedup over the session
FOLLOW_EVERY = 0.5  # seconds; who reads numbers reads no faster, and drawing them all takes a while
_BAR = 16  # cells of a full hazard


@dataclass(frozen=True)
class Insight:
    """What the panel shows."""

    snapshot: Snapshot
    timeline: Timeline


@dataclass(frozen=True)
class _Form:
    """How much the panel tells: lines of the plot and of the course, explanations, gaps between the parts."""

    plot: int = 8
    course: int = COURSE
    explained: bool = True
    gaps: bool = True


# From the one that tells most on; the first that fits is shown.
_FORMS = (
    _Form(),
    _Form(gaps=False),
    _Form(course=1),
    _Form(course=1, gaps=False),
    _Form(course=1, explained=False, gaps=False),
    _Form(plot=6, course=1, explained=False, gaps=False),
    _Form(plot=4, course=1, explained=False, gaps=False),
)


def lines(insight: Insight, width: int, height: int) -> list[Text]:
    """The panel's lines for `width` cells; fewer of them where `height` lines cannot hold all."""
    made: list[Text] = []
    for form in _FORMS:
        made = list(_lines(insight, width, form))
        if sum(max(1, ceil(cell_len(line.plain) / width)) for line in made) <= height:
            break
    return made


def _lines(insight: Insight, width: int, form: _Form) -> Iterator[Text]:
    found = insight.snapshot.verdict
    facts: dict[str, Any] = dict(found.facts) if found else {}
    parts = [
        _summary(found, facts, insight.snapshot.k),
        _costs(facts, insight.snapshot, width, form),
        _hazards(insight.snapshot),
        _course(insight.snapshot, insight.timeline, width, form),
    ]
    for number, part in enumerate(parts):
        if number and form.gaps:
            yield Text()
        yield from part


def _summary(found: Verdict | None, facts: dict[str, Any], k: int) -> Iterator[Text]:
    yield Text(verdict.tags(found, k)[0], verdict.style(found)) if found else Text("-")
    yield Text(f"speedup   {_speedup(facts.get('speedup')) if facts else '-'}")
    yield Text(f"predicted {shown(facts.get('predicted'), '{:.2f}x')}")


def _speedup(speedup: dict[str, float] | None) -> str:
    if not speedup:
        return "not measured"
    return f"{speedup['value']:.2f}x  [{speedup['low']:.2f}, {speedup['high']:.2f}] (95%)"


def _costs(facts: dict[str, Any], snapshot: Snapshot, width: int, form: _Form) -> Iterator[Text]:
    yield Text("V(M): cost of M rows in single rows", palette.MUTED)
    costs = {int(m): cost for m, cost in (facts.get("verify_cost") or {}).items()}
    drawn = plot.cost_curve(costs, height=form.plot)
    if not drawn:
        yield Text("too busy to be measured yet" if snapshot.spoilt else "not measured yet")
        return
    yield from map(Text, drawn)
    yield from map(Text, plot.numbers(costs, width))
    if form.explained:
        yield Text(f"      {plot.LEGEND}", palette.MUTED)
        yield Text(f"serial index {shown(facts.get('serial_index'), '{:.2f}')} (1 is serial)")
        if snapshot.kernel:
            yield Text(neutralise(snapshot.kernel), palette.MUTED)


def _hazards(snapshot: Snapshot) -> Iterator[Text]:
    yield Text("Accepted at each position, if reached", palette.MUTED)
    if not snapshot.hazards:
        yield Text("nothing was drafted yet")
    for i, (hazard, tested) in enumerate(zip(snapshot.hazards, snapshot.tested, strict=True), start=1):
        bar = "█" * round((hazard or 0.0) * _BAR)
        yield Text(f"{i:>3} {bar:░<{_BAR}} {shown(hazard, '{:>4.0%}')} of {tested}")


def _course(snapshot: Snapshot, timeline: Timeline, width: int, form: _Form) -> Iterator[Text]:
    yield Text(f"K now {snapshot.k}, {verdict.doing(snapshot.state, snapshot.k)}", palette.MUTED)
    if not timeline.rounds:
        return
    if form.course > 1:
        yield from course.lines(timeline, width, form.course)
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

    def __init__(self) -> None:
        super().__init__()
        self._insight: Insight | None = None
        self._drawn: Insight | None = None
        self._shape: list[str] = []  # of what was drawn: its lines, those that are broken in full

    def compose(self) -> ComposeResult:
        """One block of text."""
        yield Static("-")

    def on_mount(self) -> None:
        """Follow what goes on."""
        self.set_interval(FOLLOW_EVERY, self._follow)

    def show(self, insight: Insight) -> None:
        """Show this from now on: at once if nothing showed, else when it is time."""
        self._insight = insight
        if self._drawn is None:
            self._follow()

    def on_resize(self) -> None:
        """Another size may hold more."""
        self._drawn = None
        self._follow()

    def _follow(self) -> None:
        """Write it anew, if it is another and anybody sees it."""
        size = self.scrollable_content_region
        if self._insight is None or self._insight is self._drawn or not self.display or not size.width:
            return
        self._drawn = self._insight
        told = lines(self._insight, size.width, size.height)
        shape = [text.plain if cell_len(text.plain) > size.width else "" for text in told]
        # Only where another height can come of it: a layout is one of the whole screen.
        self.query_one(Static).update(Text("\n").join(told), layout=shape != self._shape)
        self._shape = shape
