"""The engine's events in a chat of lines: what is said of each, and said once."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from itertools import groupby

from app.desk.desk import Desk, Question
from app.files.sources import source
from app.line.voice import Voice
from app.thinking import Markers, Thinking
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
    Warned,
)
from mlx_spec.events import Round
from mlx_spec.verdict.diagnose import Verdict

YOU, MODEL, THINKING = "You: ", "Model: ", "Thinking: "
ENDINGS = {
    "interrupt": "Stopped.",
    "length": "Cut at the length limit. /continue goes on.",
    "error": "Ended by an error.",
}
DROP = (
    "Shorten it. Or write /drop and ask again: the oldest turns stay in the chat, "
    "but the model is no longer told them."
)
EVERY = 10.0  # seconds between two sentences of loading that differ in their numbers alone
COPIES = 1.0  # seconds that the next question waits for what an answer copied


class Hearing:
    """Takes in what the engine says.

    Attributes:
        thoughts: thinking is read out.
    """

    def __init__(self, desk: Desk, voice: Voice, clock: Callable[[], float] = time.monotonic) -> None:
        """Args:
        desk: that the events change.
        voice: that tells of them.
        clock: seconds.
        """
        self._desk = desk
        self._voice = voice
        self._clock = clock
        self.thoughts = False
        self._thinking = Thinking()
        self._speaker = ""
        self._read = False  # it was said how much is read
        self._loading = ("", 0.0)  # the latest sentence without its numbers, and when it was said
        self._verdict: tuple[str, str | None] | None = None

    def take_all(self, events: Sequence[Event]) -> None:
        """Take events in, rounds that follow each other as one."""
        for emitted, group in groupby(events, key=lambda event: isinstance(event, Emitted)):
            if emitted:
                self._take_rounds([event for event in group if isinstance(event, Emitted)])
            else:
                for event in group:
                    self._take(event)

    def _take_rounds(self, rounds: list[Emitted]) -> None:
        self._desk.hear(rounds)
        for event in rounds:
            split = self._thinking.take(event.round)
            if split.thought_text and not self.thoughts and self._speaker != THINKING:
                self._speaker = THINKING
                self._voice.say("Thinking.")
            if self.thoughts:
                self._speak(THINKING, split.thought_text)
            self._speak(MODEL, split.text)

    def _speak(self, speaker: str, text: str) -> None:
        if text and self._speaker != speaker:
            self._voice.end_line()
            self._voice.write(speaker)
            self._speaker = speaker
        self._voice.write(text)

    def _take(self, event: Event) -> None:
        say, reports = self._voice.say, self._desk.reports
        match event:
            case Loading():
                self._load(event.sentence)
            case Ready():
                self._desk.be_ready(event)
                self._verdict = None  # of another pair, it is said again
                say(f"Ready: {event.model}, draft {event.draft}.")
                self._warn(*event.warnings)
                self._judge(event.snapshot.verdict)
            case Retuned():
                reports.take(event)
                say(f"K {event.k}, draft {event.draft}.")
                self._warn(*event.warnings)
                self._judge(event.snapshot.verdict)
            case Measured():
                reports.take(event)
                self._judge(event.snapshot.verdict)
            case Switched():
                say(event.sentence)
            case Refused():
                say(f"{event.message} {event.next_step}".strip())
            case Started():
                self._begin(event)
            case Prefilled():
                self._tell_reading(event)
            case Finished():
                self._finish(event)
            case Warned():
                self._warn(event.sentence)
            case Failed():
                self._fail(event)

    def _warn(self, *sentences: str) -> None:
        for sentence in sentences:
            self._voice.say(f"Warning: {sentence}")

    def _load(self, sentence: str) -> None:
        """Every new sentence; of one whose numbers run, only some."""
        kind, now = re.sub(r"[\d.,]+", "", sentence), self._clock()
        if kind != self._loading[0] or now - self._loading[1] > EVERY:
            self._loading = kind, now
            self._voice.say(sentence if sentence.endswith(".") else f"{sentence}.")

    def _begin(self, event: Started) -> None:
        answer = self._desk.conversation.under_way
        self._desk.reports.start(event, answer.id if answer else None)
        self._speaker, self._read = "", False
        if answer is not None and answer.text:  # it goes on where it was, with its markers
            self._thinking = Thinking(Markers(event.markers.start, event.markers.end))
            self._thinking.take(Round(pieces=[("", answer.text)]))
        else:
            self._thinking = Thinking(event.markers)
        self._warn(*event.notices)

    def _tell_reading(self, event: Prefilled) -> None:
        if not self._read and event.read < event.total:
            self._read = True
            self._voice.say(f"Reading {event.total:,} tokens.")

    def _finish(self, event: Finished) -> None:
        back = self._desk.finish(event)
        self._voice.end_line()
        limit = self._desk.reports.context_limit or 0
        full = f"Cut: the context of {limit:,} tokens is full."
        self._voice.say(full if event.context_full else ENDINGS.get(event.reason, ""))
        self._give_back(back)
        if self._desk.reports.snapshot is not None:
            self._judge(self._desk.reports.snapshot.verdict)
        for answer in self._desk.copies(COPIES):
            for words in dict.fromkeys(map(source, answer.spans)):
                self._voice.say(f"{words.capitalize()}.")

    def _fail(self, event: Failed) -> None:
        choice = event.too_long and self._desk.conversation.path and self._desk.context_full == "stop"
        back = self._desk.fail(event)
        self._voice.end_line()
        self._voice.say(f"Error: {event.message} {DROP if choice else event.next_step}".strip())
        self._give_back(*back)

    def _give_back(self, *questions: Question | None) -> None:
        for question in filter(None, questions):
            self._desk.tray.files[:0] = question.files
            self._voice.say("The question has no answer, so it is no part of the chat.")

    def _judge(self, verdict: Verdict | None) -> None:
        """Say the verdict, if it is another; that it is being found out is none."""
        if verdict is None or verdict.kind == "measuring":
            return
        if (found := (verdict.kind, verdict.cause)) != self._verdict:
            self._verdict = found
            self._voice.say(verdict.sentence)
