"""The inspector: a round at a time, what was drafted, what stood, and what the target preferred instead."""

from __future__ import annotations

from rich.style import Style
from rich.text import Text
from textual import events
from textual.app import ComposeResult, RenderResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.message import Message
from textual.reactive import reactive
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static

from app.speculation.rounds import Entry, RoundLog, brief, headline
from app.tui.speculation.round import body, glyph

FOLLOW_EVERY = 0.2  # seconds
_ROOMY, _TALL = 40, 12  # cells and lines from which there is room for a sentence, and for the keys


class Strip(Widget):
    """A character for each round around the one that is shown; the mouse points at one or picks it."""

    DEFAULT_CSS = """
    Strip { height: 1; color: $text-muted; }
    """

    class Picked(Message):
        """The mouse is over a round, or clicked it."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    at: reactive[int] = reactive(0)
    glyphs: reactive[str] = reactive("")

    @property
    def _first(self) -> int:
        """Index of the leftmost round."""
        width = self.content_size.width
        return max(0, min(self.at - width // 2, len(self.glyphs) - width))

    def render(self) -> RenderResult:
        """The rounds that have room, the present one reversed."""
        first, width = self._first, max(self.content_size.width, 1)
        text = Text(self.glyphs[first : first + width], no_wrap=True)
        text.stylize(Style(reverse=True, bold=True), self.at - first, self.at - first + 1)
        return text

    def _pick(self, x: int) -> None:
        index = self._first + x
        if 0 <= index < len(self.glyphs) and index != self.at:
            self.post_message(self.Picked(index))

    def on_click(self, event: events.Click) -> None:
        """Show that round."""
        self._pick(event.x)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Show the round under the mouse. A strip longer than the screen would run away from it."""
        if len(self.glyphs) <= self.content_size.width:
            self._pick(event.x)


class Rounds(ModalScreen[None]):
    """The inspector, over the whole screen. At the last round it follows an answer that goes on."""

    DEFAULT_CSS = """
    Rounds { background: $background; }
    Rounds #head { height: auto; padding: 0 2; text-style: bold; }
    Rounds Strip { margin: 0 2; }
    Rounds VerticalScroll { height: 1fr; padding: 1 2 0 2; scrollbar-size-vertical: 1; }
    Rounds #round { height: auto; }
    Rounds #keys { height: auto; max-height: 2; padding: 0 2; color: $text-muted; }
    """
    BINDINGS = [  # noqa: RUF012 - Textual reads it from the class
        Binding("left,h,k", "step(-1)", "Back", priority=True),
        Binding("right,l,j,space", "step(1)", "On", priority=True),
        Binding("r,n", "seek(1)", "Next rejection", priority=True),
        Binding("R,N,p", "seek(-1)", "Last rejection", priority=True),
        Binding("home,g", "go(0)", "First", priority=True),
        Binding("end,G", "go(-1)", "Last", priority=True),
        Binding("up", "scroll(-1)", "Up", priority=True),
        Binding("down", "scroll(1)", "Down", priority=True),
        Binding("pageup", "page(-1)", "Page up", priority=True),
        Binding("pagedown", "page(1)", "Page down", priority=True),
        Binding("escape,q,f6", "close", "Close", priority=True),
        # A modal screen hides the app's own keys.
        Binding("ctrl+q", "app.quit", "Quit", priority=True),
        Binding("ctrl+c", "app.interrupt", "Copy, stop or quit", priority=True),
    ]
    KEYS = "← → step · r R rejections · Home End · Esc closes"

    at: reactive[int] = reactive(0, init=False)

    def __init__(self, log: RoundLog, at: int | None = None) -> None:
        """Args:
        log: the rounds; it may grow meanwhile.
        at: index of the entry to show first; None takes the last one with drafts.
        """
        super().__init__()
        self._log = log
        self._start = at
        self._entries: list[Entry] = []
        self._news = -1

    def compose(self) -> ComposeResult:
        """Headline, strip, the round, keys."""
        yield Static("", id="head", markup=False)
        yield Strip()
        with VerticalScroll(can_focus=False):
            yield Static("", id="round", markup=False)
        yield Static(self.KEYS, id="keys", markup=False)

    def on_mount(self) -> None:
        """Show the round that was asked for, or the last one with drafts, if there is one."""
        self._follow()
        drafted = [i for i, entry in enumerate(self._entries) if entry.round] or [self._last]
        self.at = drafted[-1] if self._start is None else min(self._start, self._last)
        self._show()
        self.set_interval(FOLLOW_EVERY, self._follow)

    @property
    def _last(self) -> int:
        return max(len(self._entries) - 1, 0)

    def _follow(self) -> None:
        """Take in what the log has got."""
        if self._news == self._log.news:
            return
        at_end, before = self.at == self._last, self._entries
        self._news, self._entries = self._log.news, list(self._log.entries)
        if before and self._entries and self._entries[0] is not before[0]:  # the oldest went
            gone = next((i for i, entry in enumerate(before) if entry is self._entries[0]), len(before))
            self.set_reactive(Rounds.at, max(self.at - gone, 0))
        if at_end:
            self.set_reactive(Rounds.at, self._last)
        self._show()

    def watch_at(self) -> None:
        """Show another round, from its top."""
        self._show()
        self.query_one(VerticalScroll).scroll_home(animate=False)

    def on_resize(self) -> None:
        """Lay it out anew."""
        self.call_after_refresh(self._show)

    def _show(self) -> None:
        strip = self.query_one(Strip)
        strip.glyphs, strip.at = "".join(map(glyph, self._entries)), self.at
        if not self._entries:
            self.query_one("#head", Static).update("No rounds yet: ask something first.")
            return
        entry = self._entries[self.at]
        told = f"{headline(entry)}  ({self.at + 1} of {len(self._entries)})"
        self.query_one("#head", Static).update(told if self.size.width >= _ROOMY else brief(entry))
        self.query_one("#keys").display = self.size.height >= _TALL
        width = max(self.query_one(VerticalScroll).scrollable_content_region.width, 20)
        self.query_one("#round", Static).update(Text("\n").join(body(entry, width)))

    def on_strip_picked(self, message: Strip.Picked) -> None:
        """The mouse chose."""
        self.at = message.index

    def action_step(self, by: int) -> None:
        """Go some rounds on, or back."""
        self.at = max(0, min(self.at + by, self._last))

    def action_go(self, index: int) -> None:
        """Go to the first round, or the last for -1."""
        self.at = self._last if index < 0 else min(index, self._last)

    def action_seek(self, by: int) -> None:
        """Go to the next round in which a draft was rejected, or the last one before."""
        at = self.at + by
        while 0 <= at <= self._last:
            played = self._entries[at].round
            if played and played.accepted < played.k:
                self.at = at
                return
            at += by

    def action_scroll(self, by: int) -> None:
        """Scroll a round that is longer than the screen."""
        self.query_one(VerticalScroll).scroll_relative(y=by, animate=False)

    def action_page(self, by: int) -> None:
        """Scroll by pages."""
        scroll = self.query_one(VerticalScroll)
        scroll.scroll_relative(y=by * max(scroll.size.height - 1, 1), animate=False)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel over the strip steps."""
        self.action_step(-1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel over the strip steps."""
        self.action_step(1)

    def action_close(self) -> None:
        """Back to the chat."""
        self.dismiss()
