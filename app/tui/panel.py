"""The side panel: what was measured, what was predicted, and what came of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.reactive import reactive
from textual.widgets import Static

from app.display import neutralise, shown
from app.events import Snapshot
from app.tui import palette, plot, verdict
from mlx_spec.verdict.diagnose import Verdict

WIDTH = 42  # cells, frame included
ROOMY = 26  # lines that hold everything
_BAR = 16  # cells of a full hazard


@dataclass
class History:
    """K over the rounds of the chat.

    Attributes:
        ks: of the latest rounds.
        rounds: all of them, plain steps included.
        parked: those that were plain steps because speculation was parked.
    """

    ks: deque[int] = field(default_factory=lambda: deque(maxlen=WIDTH * 3))
    rounds: int = 0
    parked: int = 0

    def add(self, k: int, state: str) -> None:
        """Take note of a round of K drafted tokens."""
        self.ks.append(k)
        self.rounds += 1
        self.parked += k == 0 and state == "parked"


@dataclass(frozen=True)
class Insight:
    """What the panel shows; `rounds` changes with each, so that the panel is drawn again."""

    snapshot: Snapshot
    history: History
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
        _ks(insight.snapshot, insight.history, width),
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


def _ks(snapshot: Snapshot, history: History, width: int) -> Iterator[Text]:
    yield Text(f"K: now {snapshot.k}, {snapshot.state}", palette.MUTED)
    yield Text(f"parked {history.parked} of {history.rounds} rounds", palette.MUTED)
    # A digit each; K above 9 goes on with letters.
    ks = "".join("0123456789abcdefg"[min(k, 16)] for k in history.ks)
    kept = ks[-2 * width :]
    for start in range(0, len(kept), max(width, 1)):
        yield Text(kept[start : start + width])


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
