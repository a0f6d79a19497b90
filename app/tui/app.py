"""The chat screen: it leads each key, line and event to the room that deals with it."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal

from app.desk.commands import BY_NAME, COMMANDS, Call, read
from app.desk.desk import Desk
from app.files.completion import paths
from app.settings.settings import SOURCES
from app.tui.calls import Calls
from app.tui.hearing import Hearing
from app.tui.prompt.prompt import Prompt
from app.tui.stage import Stage
from app.tui.terminal.terminal import TerminalApp
from app.tui.transcript.transcript import Transcript
from mlx_spec.errors import SpecError

if TYPE_CHECKING:
    from models.stock import Stock

DRAIN_EVERY = 0.1  # seconds
QUIT_WITHIN = 2.0  # seconds between two Ctrl+C
# Keys whose way depends on what goes on; the others call a command of the table.
OWN_KEYS = {"escape", "ctrl+q"}
OF_THE_CHAT = ("stop", "scroll", "call", "end", "step", "reach")  # actions that screens above it do not have
SIDEWAYS = 8  # cells a key


class Chat(TerminalApp):
    """One desk on a screen.

    Attributes:
        desk: the open chat.
        stage: the widgets; there from composing on.
        named: references of models that the person has named, for this start and in earlier chats.
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
        Binding("pageup", "scroll(-1)", "Scroll back", priority=True),
        Binding("pagedown", "scroll(1)", "Scroll on", priority=True),
        Binding("ctrl+end", "end", "To the end", priority=True),
        Binding("alt+up", "step(-1)", "The message before", priority=True),
        Binding("alt+down", "step(1)", "The message after", priority=True),
        Binding("alt+left", "reach(-1)", "Wide code back", priority=True),
        Binding("alt+right", "reach(1)", "Wide code on", priority=True),
        *(
            Binding(command.key, f"call('{command.name}')", command.summary, priority=True)
            for command in COMMANDS
            if command.key and command.key not in OWN_KEYS
        ),
    ]

    def __init__(self, desk: Desk, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self.desk = desk
        self.stage: Stage
        self._hearing: Hearing
        self._calls: Calls
        self.named = {self.desk.worker.settings.model}
        self._refs: list[str] | None = None  # of the models that are here, once somebody asked
        self._asked_to_quit = -QUIT_WITHIN

    @cached_property
    def stock(self) -> Stock:
        """The models to choose from; asked in threads of its own. The first frame does not wait for it."""
        from models.stock import Stock

        return Stock(lambda: self.named)

    def compose(self) -> ComposeResult:
        """Transcript, prompt, status."""
        self.stage = Stage(self, self.desk)
        self._hearing = Hearing(self.stage, lambda: self.stock, self._clock)
        self._calls = Calls(self)
        with Horizontal():
            yield self.stage.transcript
            yield self.stage.panel
        yield self.stage.banner
        yield self.stage.slip
        yield self.stage.prompt
        yield self.stage.line
        yield self.stage.sentence

    def on_mount(self) -> None:
        """Show the first frame, and only then load."""
        self.open_theme(self.desk.worker.settings.theme)
        self.stage.prompt.focus()
        self.stage.show_status()
        self.stage.show_desk()
        self.set_interval(DRAIN_EVERY, self.drain)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, self.exit, 128 + number)
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        self.desk.worker.start()
        self.stage.prompt.remember(self.desk.shelf.questions())
        self.stage.prompt.sources |= {
            "PATH": lambda part: paths(part, Path.cwd()),
            "CHAT": self._chats_with,
            "REF": self._refs_with,
            "SOURCE": self._sources_with,
        }
        with suppress(SpecError):  # a shelf that cannot be read has said so
            self.named |= {chat.model for chat in self.desk.shelf.reading.chats() if chat.model}

    def _chats_with(self, part: str) -> list[str]:
        """Ids of chats that `part` begins, or whose title has it."""
        try:
            chats = self.desk.shelf.reading.chats()
        except SpecError:
            return []
        part = part.lower()
        return [chat.id for chat in chats if chat.id.startswith(part) or part in chat.title.lower()]

    def _models_here(self) -> list[str]:
        """References of the models that are here. To find them takes a while, so at first there are none."""
        if self._refs is None:
            self._refs = []
            self.run_worker(self._look_around, thread=True)
        return self._refs

    def _look_around(self) -> None:
        self._refs = [model.ref for model in self.stock.installed() if not model.problem]

    def _refs_with(self, part: str) -> list[str]:
        return [ref for ref in self._models_here() if part.lower() in ref.lower()]

    def _sources_with(self, part: str) -> list[str]:
        sources = [*SOURCES, *(f"model:{ref}" for ref in self._models_here())]
        return [source for source in sources if source.startswith(part)]

    def drain(self) -> None:
        """Take in what the engine and the shelf said since the last time."""
        self._hearing.take_all(self.desk.worker.drain())
        for answer in self.desk.copies():
            self.stage.page.show_copies(answer)
        while self.desk.shelf.news:
            self.stage.warn(self.desk.shelf.news.popleft())

    # What the person does

    def on_prompt_sent(self, message: Prompt.Sent) -> None:
        """Do what was called for, or ask; what is refused is in the prompt again."""
        taken, said = True, ""
        try:
            sent = read(message.text)
            if isinstance(sent, Call):
                taken = self._calls.run(sent)
            else:
                said = self.desk.ask(sent)
        except SpecError as error:
            self.stage.refuse(error)
            taken = False
        if taken:
            self.stage.prompt.accept(message)
        else:
            self.stage.prompt.put_back(message)
        self.stage.show_desk()
        self.stage.tell(said)

    def on_transcript_step(self, message: Transcript.Step) -> None:
        """An arrow beside a message: another branch."""
        try:
            self.desk.step(message.message_id, message.delta)
        except SpecError as error:
            self.stage.refuse(error)
        self.stage.show_desk()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A screen above this one has keys of its own."""
        return len(self.screen_stack) == 1 or action not in OF_THE_CHAT

    def action_call(self, name: str) -> None:
        """Do what a key stands for."""
        self._calls.run(Call(BY_NAME[name]))

    def action_stop(self) -> None:
        """Close what is open; else take back what waits, the latest first; else end what is under way."""
        if self.stage.prompt.dismiss():
            return
        if (waiting := self.desk.take_back()) is not None:
            self.stage.give_back(waiting)
        elif self.desk.busy:
            self.stage.stop()
        elif not self.stage.leave_edit():
            self.stage.transcript.mark(None)
        self.stage.show_desk()

    def action_interrupt(self) -> None:
        """Copy a selection; else stop; else quit at the second time."""
        selected = self.stage.prompt.selected_text or self.screen.get_selected_text()
        if selected:
            self.copy_to_clipboard(selected)
            self.screen.clear_selection()
        elif self.desk.busy:
            self.action_stop()
        elif self._clock() - self._asked_to_quit < QUIT_WITHIN:
            self.exit(0)
        else:
            self._asked_to_quit = self._clock()
            self.stage.hint("Press Ctrl+C again to quit.", timeout=QUIT_WITHIN)

    async def action_quit(self) -> None:
        """Quit."""
        self.exit(0)

    def action_scroll(self, pages: int) -> None:
        """Scroll the transcript."""
        self.stage.transcript.turn(pages)

    def action_end(self) -> None:
        """Go to the end of the transcript, and follow it."""
        self.stage.transcript.to_end()

    def action_step(self, delta: int) -> None:
        """Step from message to message."""
        self.stage.transcript.step(delta)

    def action_reach(self, way: int) -> None:
        """Move wide code sideways."""
        self.stage.transcript.reach(way * SIDEWAYS)

    def on_resize(self, event: events.Resize) -> None:
        """A terminal that became wide, or narrow."""
        self.stage.fit(event.size.width)
