"""The chat screen: it turns keys into requests and the engine's events into words."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace

from rich.text import Text
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal

from app.desk import Desk, Question
from app.display import neutralise
from app.events import (
    Emitted,
    Event,
    Failed,
    Finished,
    Loading,
    Measured,
    Prefilled,
    Ready,
    Snapshot,
    Started,
    Warned,
)
from app.tui import origins, palette
from app.tui.clipboard import copy_to_system
from app.tui.page import Page
from app.tui.panel import History, Insight, Panel
from app.tui.prompt import Prompt
from app.tui.status import Facts, Sentence, State, StatusLine
from app.tui.transcript import Notice, Transcript
from app.tui.verdict import Banner
from app.worker import Worker
from mlx_spec.errors import SpecError

PANEL_FROM = 120  # columns
DRAIN_EVERY = 0.1  # seconds
QUIT_WITHIN = 2.0  # seconds between two Ctrl+C

ENDINGS = {
    "interrupt": "■ stopped",
    "length": "■ cut at the length limit; --max-tokens raises it",
    "error": "■ ended by an error",
}
WHEN_FULL = {
    "drop": "When the context is full, the oldest turns now go. Enter sends.",
    "stop": "When the context is full, the prompt now waits for you.",
}
DROP = (
    "Shorten it. Or press F4, then Enter: the oldest turns stay on this screen, "
    "but the model is no longer told them."
)


class Chat(App[int]):
    """One desk on a screen.

    Attributes:
        desk: the open chat.
        page: what the transcript shows of it; there from mounting on.
        facts: what the status line shows.
    """

    TITLE = "specchat"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    Screen { background: $background; }
    Screen.-tiny Sentence, Screen.-tiny Banner { display: none; }
    ToastRack { dock: top; align-vertical: top; }
    Toast { padding: 0 1; background: $surface; }
    """
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (12, "-normal")]  # noqa: RUF012
    BINDINGS = [  # noqa: RUF012 - Textual reads it from the class
        Binding("escape", "stop", "Stop", priority=True),
        Binding("ctrl+c", "interrupt", "Copy, stop or quit", priority=True),
        Binding("ctrl+q", "quit", "Quit", priority=True),
        Binding("f2", "origins", "Tokens by origin", priority=True),
        Binding("f3", "insight", "What was measured", priority=True),
        Binding("f4", "drop", "Leave the oldest turns out", priority=True),
        Binding("f5", "thoughts", "Thinking", priority=True),
        Binding("pageup", "scroll(-1)", "Scroll back", priority=True),
        Binding("pagedown", "scroll(1)", "Scroll on", priority=True),
    ]

    def __init__(self, worker: Worker, *, clock: Callable[[], float] = time.monotonic) -> None:
        # Without colour, Textual draws in the terminal's own two; otherwise in shades of grey.
        super().__init__(ansi_color=True if os.environ.get("NO_COLOR") is not None else None)
        self._worker = worker
        self._clock = clock
        self.desk = Desk(worker)
        self.page: Page
        self.facts = Facts()
        self._doing = "Loading the model."
        self._history = History()
        self._wide = False
        self._show_panel: bool | None = None  # as the width has it, until the user says
        self._asked_to_quit = -QUIT_WITHIN

    def compose(self) -> ComposeResult:
        """Transcript, prompt, status."""
        with Horizontal():
            yield Transcript()
            yield Panel()
        yield Banner()
        yield Prompt()
        yield StatusLine()
        yield Sentence()

    def on_mount(self) -> None:
        """Show the first frame, and only then load."""
        self.register_theme(palette.THEME)
        self.theme = palette.THEME.name
        self.page = Page(self.query_one(Transcript))
        self.query_one(Prompt).focus()
        self._show_status()
        self.set_interval(DRAIN_EVERY, self.drain)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, self.exit, 128 + number)
        self.call_after_refresh(self._worker.start)

    # Events of the engine

    def drain(self) -> None:
        """Take in what the engine said since the last time."""
        rounds: list[Emitted] = []
        for event in self._worker.drain():
            if isinstance(event, Emitted):
                rounds.append(event)
                continue
            self._take_rounds(rounds)
            rounds = []
            self._take(event)
        self._take_rounds(rounds)

    def _take_rounds(self, rounds: list[Emitted]) -> None:
        if not rounds or self.page.answer is None:
            return
        self.desk.hear(rounds)
        self.page.answer.add([event.round for event in rounds])
        self.page.answer.prompt = (rounds[-1].snapshot.prompt_tokens, rounds[-1].snapshot.reused_tokens)
        for event in rounds:
            self._history.add(event.round.k, event.snapshot.state)
        self._change(State.GENERATING, snapshot=rounds[-1].snapshot)

    def _take(self, event: Event) -> None:
        match event:
            case Loading():
                self._say(event.sentence)
            case Ready():
                self._be_ready(event)
            case Measured():
                self._change(self.facts.state, snapshot=event.snapshot)
            case Started():
                self._begin(event)
            case Prefilled():
                self.facts = replace(self.facts, read=(event.read, event.total))
                self._change(State.READING)
            case Finished():
                self._finish(event)
            case Warned():
                self.query_one(Transcript).notify_reader(Notice("!", event.sentence))
            case Failed():
                self._fail(event)

    def _be_ready(self, event: Ready) -> None:
        self.query_one(Prompt).entitle(event.model, event.draft)
        for warning in event.warnings:
            self.query_one(Transcript).notify_reader(Notice("!", warning))
        self.facts = replace(self.facts, context_limit=event.context_limit)
        self._change(State.READY, snapshot=event.snapshot)
        self.desk.be_ready(event)
        self._show_desk()

    def _begin(self, event: Started) -> None:
        assert self.page.answer is not None
        self.desk.start(event)
        self.page.answer.expect(event.markers)
        for notice in event.notices:
            self.query_one(Transcript).notify_reader(Notice("!", notice), before=self.page.answer)

    def _finish(self, event: Finished) -> None:
        full = f"■ cut: the context of {self.facts.context_limit:,} tokens is full"
        back = self.desk.finish(event)
        self.page.end(full if event.context_full else ENDINGS.get(event.reason, ""))
        self._give_back(back)
        self._change(State.STOPPED if event.reason == "interrupt" else State.READY)
        self._show_desk()

    def _fail(self, event: Failed) -> None:
        if event.loading:
            self._say("There is no model. Ctrl+Q quits.")
        back = self.desk.fail(event)
        self.page.end(ENDINGS["error"])
        self._give_back(*back)
        self._show_desk()
        choice = event.too_long and self.desk.conversation.path and self.desk.context_full == "stop"
        next_step = DROP if choice else event.next_step
        self.query_one(Transcript).notify_reader(Notice("▲", event.message, next_step))
        self._change(State.ERROR)

    def _give_back(self, *questions: Question | None) -> None:
        for question in reversed(questions):
            if question is not None:
                self.query_one(Prompt).give_back(question.text)

    def _show_desk(self) -> None:
        """Bring the screen to what the desk is at."""
        self.page.show(self.desk.conversation)
        if self.page.answer is None:
            return
        if not self.desk.loaded:
            self.page.answer.note("◌ Your prompt waits until the model is loaded. Esc takes it back.")
        elif not self.facts.state.busy:
            self.page.answer.note("")
            self._read()

    # What the user does

    def on_prompt_sent(self, message: Prompt.Sent) -> None:
        """Ask, or say why not."""
        if not message.text.strip():
            return
        try:
            self.desk.ask(message.text)
        except SpecError as error:
            self._hint(f"{error.message} {error.next_step}".strip())
            return
        self.query_one(Prompt).clear()
        self._show_desk()

    def action_stop(self) -> None:
        """Take back what waits, the latest first; else end the answer under way and keep what it said."""
        if (waiting := self.desk.take_back()) is not None:
            self._give_back(waiting)
        elif self.desk.busy:
            if self.page.answer is not None:
                self.page.answer.note("■ stopping")  # a long prompt's forward pass may take seconds yet
            self._give_back(self.desk.stop())
            self._show_desk()

    def action_interrupt(self) -> None:
        """Copy a selection; else stop; else quit at the second time."""
        selected = self.query_one(Prompt).selected_text or self.screen.get_selected_text()
        if selected:
            self.copy_to_clipboard(selected)
            self.screen.clear_selection()
        elif self.desk.busy:
            self.action_stop()
        elif self._clock() - self._asked_to_quit < QUIT_WITHIN:
            self.exit(0)
        else:
            self._asked_to_quit = self._clock()
            self._hint("Press Ctrl+C again to quit.", timeout=QUIT_WITHIN)

    async def action_quit(self) -> None:
        """Quit."""
        self.exit(0)

    def action_scroll(self, pages: int) -> None:
        """Scroll the transcript."""
        self.query_one(Transcript).turn(pages)

    def action_origins(self) -> None:
        """Show each token's origin, or Markdown again."""
        self.page.show_origins(not self.page.origins)
        self._show_status()

    def action_thoughts(self) -> None:
        """Unfold what the models thought, or fold it."""
        self.page.show_thoughts(not self.page.thoughts)

    def action_drop(self) -> None:
        """From now on, leave the oldest turns out of a prompt that does not fit; or no longer."""
        self.desk.context_full = "stop" if self.desk.context_full == "drop" else "drop"
        self._hint(WHEN_FULL[self.desk.context_full])

    def copy_to_clipboard(self, text: str) -> None:
        """Copy, and say what really happened: a terminal never answers whether it did."""
        if copy_to_system(text):
            self._hint(f"Copied {len(text)} characters.")
            return
        super().copy_to_clipboard(text)
        self._hint(f"Sent {len(text)} characters to the terminal's clipboard (OSC 52).")

    def action_insight(self) -> None:
        """Show or hide the side panel."""
        self._show_panel = not self.query_one(Panel).display
        self._show_insight()

    def on_resize(self, event: events.Resize) -> None:
        """A terminal that became wide, or narrow."""
        self._wide = event.size.width >= PANEL_FROM
        self._show_insight()

    # Words

    def _hint(self, text: str, timeout: float = 4) -> None:
        self.notify(text, timeout=timeout, markup=False)

    def _say(self, sentence: str) -> None:
        self._doing = neutralise(sentence)
        self._show_status()

    def _change(self, state: State, snapshot: Snapshot | None = None) -> None:
        if snapshot is not None:
            self.facts = replace(self.facts, snapshot=snapshot)
            self._doing = neutralise(snapshot.speculation)
        self.facts = replace(self.facts, state=state)
        self._show_status()

    def _show_insight(self) -> None:
        panel, now = self.query_one(Panel), self.facts.snapshot
        panel.display = self._wide if self._show_panel is None else self._show_panel
        if now is not None:
            self.query_one(Banner).verdict = now.verdict
            panel.insight = Insight(now, self._history, self._history.rounds)

    def _read(self) -> None:
        now = self.facts.snapshot
        self.facts = replace(self.facts, read=None)
        self._change(State.READING, now and now.at_start())

    def _show_status(self) -> None:
        self.query_one(StatusLine).facts = self.facts
        self._show_insight()
        self.query_one(Sentence).text = origins.legend() if self.page.origins else Text(self._doing)
