"""K and speedup over the session, drawn in characters: in the panel, and over the whole screen."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from rich.style import Style
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.reactive import reactive
from textual.screen import ModalScreen
from textual.widgets import Static

from app.display import neutralise
from app.speculation.timeline import Span, Timeline
from app.tui.terminal import palette

FOLLOW_EVERY = 0.5  # seconds
AXIS = 6  # cells before a plot
_EIGHTHS = " ▁▂▃▄▅▆▇█"
_PARKED, _PLAIN = "‖", "·"
_VALUE, _INTERVAL, _ONE = "●", "│", "─"
_ANSWER, _SWITCH = "┊", "⇄"
LEGEND = f"{_PARKED} parked  {_PLAIN} plain  {_ANSWER} an answer begins  {_SWITCH} another source"
SPEEDUP_LEGEND = f"{_VALUE} measured  {_INTERVAL} 95% interval  {_ONE} plain decoding, 1x"
_K = Style(color=palette.ACCENT)
_REST = Style(color=palette.WARM)
_QUIET = Style(color=palette.MUTED)
_GAIN = Style(color=palette.GOOD, bold=True)
_LOSS = Style(color=palette.BAD, bold=True)


def k_plot(columns: Sequence[Span], height: int) -> list[Text]:
    """Bars of the mean K; a column without drafts says whether it was parked.

    Args:
        columns: a cell each.
        height: lines, at least 1; all taken where there are drafts.
    """
    top = max((span.most for span in columns), default=0)
    height = height if top else 1  # without drafts there are no bars, only what rests
    lines = []
    for row in reversed(range(height)):
        name = str(top) if row == height - 1 else "0" if row == 0 and height > 1 else ""
        text = Text(f"{name:>{AXIS - 2}} ▏", palette.MUTED)
        for span in columns:
            eighths = round(span.mean_k / (top or 1) * height * 8) - 8 * row
            if span.drafted:  # the rarest drafts still show
                eighths = max(eighths, 1 if row == 0 else 0)
                text.append(_EIGHTHS[max(0, min(8, eighths))], _K)
            elif row == 0:
                text.append(*(_PARKED, _REST) if span.parked * 2 >= span.rounds else (_PLAIN, _QUIET))
            else:
                text.append(" ")
        lines.append(text)
    return lines


def marks(columns: Sequence[Span]) -> Text:
    """Below the bars: where an answer begins, and where another source took over."""
    text = Text(" " * (AXIS - 1) + "▏", palette.MUTED)
    for span in columns:
        text.append(_SWITCH if span.switched else _ANSWER if span.answers else " ", _QUIET)
    return text


def speedup_plot(columns: Sequence[Span], height: int) -> list[Text]:
    """The speedup up to each column within its interval, on a scale of ratios.

    Args:
        columns: a cell each.
        height: lines, at least 3.

    Returns:
        The lines from the top; none where nothing was measured.
    """
    known = [span.speedup for span in columns if span.speedup]
    if not known:
        return []
    low = min(1.0, *(each[1] for each in known))
    high = max(1.0, *(each[2] for each in known))
    low, high = max(low, high / 16, 0.05), max(high, low * 1.2)  # one wild interval must not flatten all
    step = math.log(high / low) / (height - 1)

    def level(value: float) -> int:
        """The line, from the bottom."""
        return max(0, min(height - 1, round(math.log(max(value, low) / low) / step)))

    lines = []
    for row in reversed(range(height)):
        ratio = low * math.exp(row * step)
        name = f"{ratio:.{2 if ratio < 10 else 0}f}x" if row in (0, height - 1) else ""
        name = "1.00x" if row == level(1.0) else name
        text = Text(f"{name:>{AXIS - 1}}▏", palette.MUTED)
        for span in columns:
            text.append(*_cell(span, row, level))
        lines.append(text)
    return lines


def _cell(span: Span, row: int, level: Callable[[float], int]) -> tuple[str, Style]:
    if span.speedup:
        value, low, high = map(level, span.speedup)
        if row == value:
            return _VALUE, _GAIN if span.speedup[0] >= 1 else _LOSS
        if low <= row <= high:
            return _INTERVAL, _QUIET
    return (_ONE if row == level(1.0) else " "), _QUIET


def heading(timeline: Timeline, latest: int | None = None) -> str:
    """What the plots are of."""
    total = timeline.total
    of = f"latest {latest:,} of " if latest else ""
    each = "rounds" if total.drafted else "plain steps"
    return f"K: {of}{total.rounds:,} {each}, {total.parked:,} parked or off"


def lines(timeline: Timeline, width: int, height: int, latest: int | None = None) -> Iterator[Text]:
    """Both plots within `width` cells.

    Args:
        timeline: of the session.
        width: cells, at least 10.
        height: lines to use; it takes at least 8.
        latest: only about so many rounds from the end.
    """
    columns = timeline.columns(width - AXIS, latest)
    room = max(height - 3, 5)
    bars = max(2, room * 2 // 5)
    yield Text(heading(timeline, latest), palette.MUTED, no_wrap=True, overflow="ellipsis")
    yield from k_plot(columns, bars)
    yield marks(columns)
    source = f" with {timeline.total.source}" if timeline.total.source else ""
    yield Text(neutralise(f"Speedup{source}: {_speedup(timeline)}"), palette.MUTED)
    yield from speedup_plot(columns, max(3, room - bars))


def _speedup(timeline: Timeline) -> str:
    found = timeline.total.speedup
    return "not measured yet" if found is None else f"{found[0]:.2f}x [{found[1]:.2f}, {found[2]:.2f}]"


class TimelineScreen(ModalScreen[None]):
    """The whole session, or its latest rounds, over the whole screen. It goes on while an answer does."""

    DEFAULT_CSS = """
    TimelineScreen { background: $background; }
    TimelineScreen #plot { height: 1fr; padding: 1 2 0 2; }
    TimelineScreen #keys { height: auto; max-height: 3; padding: 0 2; color: $text-muted; }
    """
    BINDINGS = [  # noqa: RUF012 - Textual reads it from the class
        Binding("plus,equals_sign,up", "zoom(0.5)", "Nearer", priority=True),
        Binding("minus,down", "zoom(2)", "Farther", priority=True),
        Binding("0", "whole", "All", priority=True),
        Binding("escape,q,f7", "close", "Close", priority=True),
        # A modal screen hides the app's own keys.
        Binding("ctrl+q", "app.quit", "Quit", priority=True),
        Binding("ctrl+c", "app.interrupt", "Copy, stop or quit", priority=True),
    ]
    KEYS = "+ the latest rounds · − more of them · 0 all · Esc closes"

    latest: reactive[int | None] = reactive(None, init=False)

    def __init__(self, timeline: Timeline) -> None:
        """Args:
        timeline: of the session; it may grow meanwhile.
        """
        super().__init__()
        self._timeline = timeline
        self._drawn = -1

    def compose(self) -> ComposeResult:
        """Plots, legend, keys."""
        yield Static("", id="plot", markup=False)
        yield Static(Text("\n").join([Text(LEGEND), Text(SPEEDUP_LEGEND), Text(self.KEYS)]), id="keys")

    def on_mount(self) -> None:
        """Draw, and go on."""
        self.set_interval(FOLLOW_EVERY, self._follow)

    def _follow(self) -> None:
        if self._drawn != self._timeline.rounds:
            self._show()

    def on_resize(self) -> None:
        """Draw for another size."""
        self.query_one("#keys").display = self.size.height >= 14
        self.call_after_refresh(self._show)

    def watch_latest(self) -> None:
        """Draw another stretch."""
        self._show()

    def _show(self) -> None:
        plot = self.query_one("#plot", Static)
        self._drawn = self._timeline.rounds
        if not self._drawn:
            plot.update("No rounds yet: ask something first.")
            return
        width, height = plot.content_size.width, plot.content_size.height
        if width:
            plot.update(Text("\n").join(lines(self._timeline, width, height, self.latest)))

    def action_zoom(self, by: float) -> None:
        """Show fewer of the latest rounds, or more."""
        latest = int((self.latest or self._timeline.rounds) * by)
        self.latest = None if latest >= self._timeline.rounds else max(latest, 16)

    def action_whole(self) -> None:
        """Show the whole session."""
        self.latest = None

    def action_close(self) -> None:
        """Back to the chat."""
        self.dismiss()
