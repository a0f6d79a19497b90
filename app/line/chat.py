"""A chat line by line: one reads, the other speaks, in turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from app.chats.records import ChatMessage, MessageState
from app.desk.commands import Call, read
from app.desk.desk import Desk
from app.desk.offered import better_pair
from app.errors import sentence
from app.line.calls import Calls
from app.line.hearing import MODEL, YOU, Hearing
from app.line.reader import Reader
from app.line.signals import Signals
from app.line.voice import Voice
from app.thinking import Markers, split
from mlx_spec.errors import SpecError
from models.stock import Stock

TICK = 0.03  # seconds between two looks at what the engine says
ANEW = "Anew: "
STATES: dict[MessageState, str] = {
    "streaming": "Another specchat is writing this.",
    "stopped": "Stopped there.",
    "cut": "Cut at the length limit there.",
    "interrupted": "Interrupted there: specchat ended.",
    "failed": "Ended by an error there.",
}


class LineChat:
    """One desk, in lines."""

    def __init__(
        self,
        desk: Desk,
        voice: Voice,
        reader: Reader,
        signals: Signals,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Args:
        desk: the open chat.
        voice, reader, signals: of the terminal.
        sleep: waits for seconds.
        """
        self._desk = desk
        self._voice = voice
        self._reader = reader
        self._signals = signals
        self._sleep = sleep
        self._stock = Stock()
        self._hearing = Hearing(desk, voice)
        self._calls = Calls(desk, voice, self._hearing)

    def run(self) -> None:
        """Load, then take turns until the person quits or the input ends.

        Raises:
            KeyboardInterrupt: Ctrl+C while the model loads, or twice while an answer runs.
            SystemExit: another program ended this one.
        """
        self._voice.say("Loading the model.")
        self._desk.worker.start()
        self._settle()
        if self._reader.live:
            self._voice.say("/help lists the commands.")
        self._reader.remember(self._desk.shelf.questions())
        self._arrive([])
        while not self._calls.quitting and (text := self._read()) is not None:
            try:
                self._take(text)
            except SpecError as error:
                self._voice.say(sentence(error))
            self._settle()
            if self._reader.live and (now := self._desk.reports.snapshot) is not None:
                self._voice.say(better_pair(self._stock, self._desk.worker.settings, now) or "")

    def _read(self) -> str | None:
        """What the person says; None to quit."""
        warned = False
        while True:
            editing = self._desk.editing
            draft = self._desk.conversation.message(editing).text if editing is not None else ""
            try:
                return self._reader.message(YOU if editing is None else ANEW, draft)
            except KeyboardInterrupt:
                self._signals.check()
            if warned:
                return None
            warned, self._desk.editing = True, None
            self._voice.say("Press Ctrl+C again to quit.")

    def _take(self, text: str) -> None:
        said = read(text)
        if isinstance(said, Call):
            before = self._desk.conversation.path
            self._voice.tell(self._calls.run(said))
            self._arrive(before)
        elif not said.strip():
            self._desk.editing = None
        else:
            self._voice.say(self._desk.ask(said))

    def _arrive(self, before: Sequence[ChatMessage]) -> None:
        """Say where in the chats the person is, if it is where they were not."""
        path = self._desk.conversation.path
        if self._desk.busy or not path or path[-1].id in {message.id for message in before}:
            return
        for message in path[-2:]:
            if message.role == "user":
                self._voice.tell(f"{YOU}{message.text}")
            else:
                self._voice.tell(f"{MODEL}{split(message.text, Markers.kept(message.stats)).text}")
                self._voice.say(STATES.get(message.state, ""))

    def _settle(self) -> None:
        """Take in what the engine says until nothing is under way; Ctrl+C ends what is."""
        desk, stopped = self._desk, False
        self._signals.presses = 0
        while True:
            there = desk.loaded or desk.failure is not None
            # Looked at before the events: what is over by now has its last word among them.
            rests = there and not desk.busy and not desk.worker.changing
            events = desk.worker.drain()
            self._hearing.take_all(events)
            while desk.shelf.news:
                self._voice.say(f"Warning: {desk.shelf.news.popleft()}")
            self._signals.check()
            if rests and not events:
                return
            if self._signals.presses > 1 or (self._signals.presses and not there):
                raise KeyboardInterrupt
            if self._signals.presses and not stopped:
                desk.stop()
                stopped = True
            if not events:
                self._sleep(TICK)
