"""Ctrl+C while something runs, pressed by the clock in place of a hand."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable

import pytest
from screenplay import Scripted, desk_for, rounds, worker_for

from app.desk.opening import close_desk
from app.line.chat import LineChat
from app.line.reader import Reader
from app.line.signals import Signals
from app.line.voice import Voice
from mlx_spec.errors import SpecError


class Person:
    """Presses Ctrl+C whenever the chat waits and `when` holds.

    Attributes:
        out, err: what was written.
    """

    def __init__(
        self,
        assistant: Scripted,
        script: str,
        when: Callable[[Person], bool],
        hold: threading.Event | None = None,
        presses: int = 1,
    ) -> None:
        self.out, self.err = io.StringIO(), io.StringIO()
        self.desk = desk_for(worker_for(assistant, hold))
        self._when = when
        self._presses = presses
        self._signals = Signals()
        voice = Voice(self.out, self.err)
        reader = Reader(io.StringIO(script), voice, self._signals)
        self.chat = LineChat(self.desk, voice, reader, self._signals, self._wait)

    def _wait(self, seconds: float) -> None:
        threading.Event().wait(seconds)
        if self._when(self):
            self._signals.presses += self._presses

    def run(self) -> None:
        try:
            self.chat.run()
        finally:
            close_desk(self.desk, told=True)


def once(text: str) -> Callable[[Person], bool]:
    """When a text was written, for the first time."""
    pressed: list[bool] = []

    def when(person: Person) -> bool:
        if text not in person.out.getvalue() or pressed:
            return False
        pressed.append(True)
        return True

    return when


def test_an_answer_is_stopped_and_kept() -> None:
    assistant = Scripted([rounds("One", *" and so on" * 100), rounds("Two")], pace=0.01)
    person = Person(assistant, "1\n2\n", once("Model: One"))
    person.run()
    assert "Stopped.\n" in person.err.getvalue()
    assert person.out.getvalue().endswith("\nYou: 2\nModel: Two\n")
    assert [message.state for message in person.desk.conversation.path] == ["done", "stopped", "done", "done"]


def test_a_question_that_is_stopped_before_a_word_is_no_part_of_the_chat() -> None:
    assistant = Scripted([rounds("Never")])
    assistant.going.clear()
    person = Person(assistant, "1\n", once("You: 1"))
    person.run()
    assert "Stopped.\nThe question has no answer, so it is no part of the chat.\n" in person.err.getvalue()
    assert person.desk.conversation.path == []


def test_pressed_twice_it_leaves_and_the_answer_is_kept() -> None:
    assistant = Scripted([rounds("One", *" and so on" * 100)], pace=0.01)
    person = Person(assistant, "1\n", once("Model: One"), presses=2)
    with pytest.raises(KeyboardInterrupt):
        person.run()
    assert [message.state for message in person.desk.conversation.path] == ["done", "stopped"]


def test_while_the_model_loads_it_leaves() -> None:
    person = Person(Scripted(), "1\n", lambda _: True, hold=threading.Event())
    with pytest.raises(KeyboardInterrupt):
        person.run()
    assert person.out.getvalue() == ""


def test_a_draft_that_takes_long_is_given_up() -> None:
    assistant = Scripted(unfit={"self": SpecError("Never.")})
    gate = threading.Event()
    loads = assistant.retune

    def retune(settings: object, progress: Callable[[str], None]) -> None:
        while not gate.wait(0.01):
            progress("Loading.")
        loads(settings, progress)  # type: ignore[arg-type]

    assistant.retune = retune  # type: ignore[assignment, method-assign]
    person = Person(assistant, "/draft self\n/k\n", once("/draft self"))
    person.run()
    assert "Loading was stopped. All is as it was.\n" in person.err.getvalue()
    assert person.out.getvalue().endswith("You: /k\nK is auto.\n")
