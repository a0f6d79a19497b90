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
from app.timeline import Timeline
from app.tui import origins, palette, verdict
from app.tui.answer import Answer
from app.tui.clipboard import copy_to_system
from app.tui.conversation import Conversation
from app.tui.panel import Insight, Panel
from app.tui.prompt import Prompt
from app.tui.status import Facts, Sentence, State, StatusLine
from app.tui.transcript import Notice, Transcript
from app.tui.verdict import Banner
from app.worker import Worker

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
    """One conversation with one assistant.

    Attributes:
        conversation: what was said.
        facts: what the status line shows.
        failure: why there is no model, or None.
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
        self.conversation = Conversation()
        self._answer: Answer | None = None  # of the turn under way
        self.facts = Facts()
        self._doing = "Loading the model."
        self._show_origins = False
        self._show_thoughts = False
        self._context_full = "stop"  # or drop
        self._timeline = Timeline()
        self._wide = False
        self._show_panel: bool | None = None  # as the width has it, until the user says
        self._asked_to_quit = -QUIT_WITHIN
        self.failure: Failed | None = None

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
        if not rounds or self._answer is None:
            return
        self._answer.add([event.round for event in rounds])
        self._answer.prompt = (rounds[-1].snapshot.prompt_tokens, rounds[-1].snapshot.reused_tokens)
        for event in rounds:
            self._timeline.add(event.round, event.snapshot)
        self._change(State.GENERATING, snapshot=rounds[-1].snapshot)

    def _take(self, event: Event) -> None:
        match event:
            case Loading():
                self._say(event.sentence)
            case Ready():
                self._be_ready(event)
            case Measured():
                self._learn(event)
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
        self._context_full = event.context_full
        self.facts = replace(self.facts, context_limit=event.context_limit)
        self._change(State.READY, snapshot=event.snapshot)
        if self.conversation.question is not None:
            self._request()

    def _learn(self, event: Measured) -> None:
        self._change(self.facts.state, snapshot=event.snapshot)

    def _begin(self, event: Started) -> None:
        assert self._answer is not None
        self._answer.expect(event.markers)
        self._timeline.begin()
        for notice in event.notices:
            self.query_one(Transcript).notify_reader(Notice("!", notice), before=self._answer)
        self._read()

    def _finish(self, event: Finished) -> None:
        assert self._answer is not None
        stopped = event.reason == "interrupt"
        if stopped and not self._answer.text:
            self._take_back()
        else:
            full = f"■ cut: the context of {self.facts.context_limit:,} tokens is full"
            self._answer.finish(full if event.context_full else ENDINGS.get(event.reason, ""))
            self.conversation.settle(self._answer.text)
            self._answer = None
        self._change(State.STOPPED if stopped else State.READY)

    def _fail(self, event: Failed) -> None:
        if event.loading:
            self.failure = event
            self._say("There is no model. Ctrl+Q quits.")
        if self._answer is not None:
            self._take_back()
        choice = event.too_long and self.conversation.messages and self._context_full == "stop"
        next_step = DROP if choice else event.next_step
        self.query_one(Transcript).notify_reader(Notice("▲", event.message, next_step))
        self._change(State.ERROR)

    def _take_back(self) -> None:
        assert self._answer is not None
        self.query_one(Transcript).break_off(self._answer)
        self._answer = None
        self.query_one(Prompt).give_back(self.conversation.withdraw())

    # What the user does

    def on_prompt_sent(self, message: Prompt.Sent) -> None:
        """Ask, or say why not."""
        if not message.text.strip():
            return
        if self.failure is not None:
            self._hint("There is no model to answer. Ctrl+Q quits.")
        elif self._answer is not None and self.facts.state is State.LOADING:
            self._hint("One prompt is waiting already. Esc takes it back.")
        elif self._answer is not None:
            self._hint("An answer is running. Esc stops it.")
        else:
            self._ask(message.text)

    def _ask(self, question: str) -> None:
        self.query_one(Prompt).clear()
        self.conversation.ask(question)
        self._answer = self.query_one(Transcript).ask(
            question, show_origins=self._show_origins, show_thought=self._show_thoughts
        )
        if self.facts.state is State.LOADING:
            self._answer.note("◌ Your prompt waits until the model is loaded. Esc takes it back.")
        else:
            self._request()

    def _request(self) -> None:
        assert self._answer is not None
        self._answer.note("")
        self._worker.answer(self.conversation.request(), self._context_full)
        self._read()

    def action_stop(self) -> None:
        """End the answer under way and keep what it said; a prompt without an answer is taken back."""
        if self._answer is None:
            return
        if self.facts.state is State.LOADING:
            self._take_back()
        else:
            self._answer.note("■ stopping")  # a long prompt's forward pass may take seconds yet
            self._worker.stop()

    def action_interrupt(self) -> None:
        """Copy a selection; else stop; else quit at the second time."""
        selected = self.query_one(Prompt).selected_text or self.screen.get_selected_text()
        if selected:
            self.copy_to_clipboard(selected)
            self.screen.clear_selection()
        elif self._answer is not None:
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
        self._show_origins = not self._show_origins
        self.query_one(Transcript).show_origins(self._show_origins)
        self._show_status()

    def action_thoughts(self) -> None:
        """Unfold what the models thought, or fold it."""
        self._show_thoughts = not self._show_thoughts
        self.query_one(Transcript).show_thoughts(self._show_thoughts)

    def action_drop(self) -> None:
        """From now on, leave the oldest turns out of a prompt that does not fit; or no longer."""
        self._context_full = "stop" if self._context_full == "drop" else "drop"
        self._hint(WHEN_FULL[self._context_full])

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
            self._doing = neutralise(verdict.quiet(snapshot.verdict))
        self.facts = replace(self.facts, state=state)
        self._show_status()

    def _show_insight(self) -> None:
        panel, now = self.query_one(Panel), self.facts.snapshot
        panel.display = self._wide if self._show_panel is None else self._show_panel
        if now is not None:
            self.query_one(Banner).verdict = now.verdict
            panel.insight = Insight(now, self._timeline, self._timeline.rounds)

    def _read(self) -> None:
        now = self.facts.snapshot
        self.facts = replace(self.facts, read=None)
        self._change(State.READING, now and now.at_start())

    def _show_status(self) -> None:
        self.query_one(StatusLine).facts = self.facts
        self._show_insight()
        self.query_one(Sentence).text = origins.legend() if self._show_origins else Text(self._doing)
