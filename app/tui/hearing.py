"""The engine's events: what each changes at the desk and on the screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from app.desk.offered import better_pair
from app.thread.events import (
    Emitted,
    Event,
    Failed,
    Finished,
    Loading,
    Measured,
    Prefilled,
    Ready,
    Refused,
    Retuned,
    Started,
    Switched,
    Switching,
    Warned,
)
from app.tui.stage import Stage
from app.tui.status import State
from app.tui.transcript.transcript import Notice

if TYPE_CHECKING:
    from models.stock import Stock

ENDINGS = {
    "interrupt": "■ stopped",
    "length": "■ cut at the length limit; /continue goes on",
    "error": "■ ended by an error",
}
DROP = (
    "Shorten it. Or press F4, then Enter: the oldest turns stay on this screen, "
    "but the model is no longer told them."
)
NO_MODEL = "There is no model. /model loads one, Ctrl+Q quits."


class Hearing:
    """Takes in what the engine says."""

    def __init__(self, stage: Stage, stock: Callable[[], Stock], clock: Callable[[], float]) -> None:
        self._stage = stage
        self._stock = stock
        self._clock = clock
        self._started = 0.0
        self._desk = stage.desk

    def take_all(self, events: Sequence[Event]) -> None:
        """Take events in, rounds that follow each other as one."""
        rounds: list[Emitted] = []
        for event in events:
            if isinstance(event, Emitted):
                rounds.append(event)
                continue
            self._take_rounds(rounds)
            rounds = []
            self._take(event)
        self._take_rounds(rounds)

    def _take_rounds(self, rounds: list[Emitted]) -> None:
        answer = self._stage.page.answer
        if not rounds or answer is None:
            return
        self._desk.hear(rounds)
        answer.add([event.round for event in rounds])
        answer.prompt = (rounds[-1].snapshot.prompt_tokens, rounds[-1].snapshot.reused_tokens)
        self._stage.change(State.GENERATING, rounds[-1].snapshot)

    def _take(self, event: Event) -> None:
        stage = self._stage
        match event:
            case Loading():
                stage.say(event.sentence)
            case Ready():
                self._be_ready(event)
            case Retuned():
                stage.introduce(event, self._desk.reports.model)
                self._desk.reports.take(event)
                stage.change(stage.facts.state, event.snapshot)
                stage.hint(f"K {event.k}, draft {event.draft}.")
            case Switching():
                stage.change(State.LOADING)
                stage.say(f"Loading {event.model}, draft {event.draft}.")
            case Switched():
                stage.tell(event.sentence)
            case Refused():
                stage.transcript.notify_reader(Notice("▲", event.message, event.next_step))
                stage.show_status()
            case Measured():
                self._desk.reports.take(event)
                stage.change(stage.facts.state, event.snapshot)
            case Started():
                self._begin(event)
            case Prefilled():
                stage.facts = replace(stage.facts, read=(event.read, event.total))
                stage.change(State.READING)
            case Finished():
                self._finish(event)
            case Warned():
                stage.warn(event.sentence)
            case Failed():
                self._fail(event)

    def _be_ready(self, event: Ready) -> None:
        self._stage.introduce(event, event.model)
        self._stage.facts = replace(self._stage.facts, context_limit=event.context_limit)
        self._stage.change(State.READY, event.snapshot)
        self._desk.be_ready(event)
        self._stage.show_desk()

    def _begin(self, event: Started) -> None:
        answer = self._stage.page.answer
        assert answer is not None
        self._desk.reports.start(event, answer.message_id)
        self._started = self._clock()
        if not answer.text:  # an answer that goes on has its markers
            answer.expect(event.markers)
        for notice in event.notices:
            self._stage.transcript.notify_reader(Notice("!", notice), before=answer)

    def _finish(self, event: Finished) -> None:
        full = f"■ cut: the context of {self._stage.facts.context_limit:,} tokens is full"
        if event.reason != "interrupt":
            self._stage.call_back(self._clock() - self._started)
        back = self._desk.finish(event)
        self._stage.page.end(full if event.context_full else ENDINGS.get(event.reason, ""))
        self._stage.give_back(back)
        self._stage.change(State.STOPPED if event.reason == "interrupt" else State.READY)
        self._stage.show_desk()
        if (now := self._stage.facts.snapshot) is not None:
            self._stage.tell(better_pair(self._stock(), self._desk.worker.settings, now) or "")

    def _fail(self, event: Failed) -> None:
        if event.loading:
            self._stage.say(NO_MODEL)
        back = self._desk.fail(event)
        self._stage.page.end(ENDINGS["error"])
        self._stage.give_back(*back)
        self._stage.show_desk()
        choice = event.too_long and self._desk.conversation.path and self._desk.context_full == "stop"
        next_step = DROP if choice else event.next_step
        self._stage.transcript.notify_reader(Notice("▲", event.message, next_step))
        self._stage.change(State.ERROR)
