"""The chat in lines in a terminal of its own, as a person has it."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.chats.store import Store
from models import locations

ROOT = Path(__file__).resolve().parents[3]
COUNTING = ("tests/scripted.py",)


class Person:
    """Types, and keeps what the terminal was sent."""

    def __init__(self, program: subprocess.Popen[bytes], screen: int) -> None:
        self.program, self._screen = program, screen
        self.seen = ""

    def type(self, text: str) -> None:
        os.write(self._screen, text.encode())

    def wait_for(self, text: str, within: float = 60.0) -> str:
        """Until a text is there; returns what came before it, and forgets all of that."""
        deadline = time.monotonic() + within
        while text not in self.seen:
            assert time.monotonic() < deadline, self.seen
            if not self._read(0.1) and self.program.poll() is not None:
                raise AssertionError(f"ended with {self.program.returncode}: {self.seen}")
        before, _, self.seen = self.seen.partition(text)
        return before

    def end(self, within: float = 60.0) -> int:
        """The exit code; all that came until then is in `seen`."""
        deadline = time.monotonic() + within
        while self.program.poll() is None and time.monotonic() < deadline:
            self._read(0.1)
        while self._read(0):
            pass
        return self.program.wait(1)

    def _read(self, seconds: float) -> bool:
        if not select.select([self._screen], [], [], seconds)[0]:
            return False
        try:
            came = os.read(self._screen, 1 << 16).decode(errors="replace").replace("\r\n", "\n")
        except OSError:  # the program closed its end
            return False
        self.seen += came
        return bool(came)


@contextmanager
def person(*argv: str, program: tuple[str, ...] = COUNTING, term: str = "xterm-256color") -> Iterator[Person]:
    screen, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, *program, *argv],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}", "TERM": term},
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
        preexec_fn=_own_terminal,
    )
    os.close(terminal)
    try:
        yield Person(process, screen)
    finally:
        process.kill()
        process.wait()
        os.close(screen)


def _own_terminal() -> None:
    """Ctrl+C comes from the terminal."""
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@pytest.mark.slow
def test_ctrl_c_stops_an_answer_and_twice_at_the_prompt_quits() -> None:
    with person("--plain") as someone:
        someone.wait_for("You: ")
        someone.type("Count.\n")
        someone.wait_for("Model: 0\n1\n2\n")
        someone.type("\x03")
        someone.wait_for("Stopped.\n")
        someone.wait_for("You: ")
        someone.type("\x03")
        someone.wait_for("Press Ctrl+C again to quit.\nYou: ")
        someone.type("\x03")
        assert someone.end() == 0
    store = Store.open(locations.chats_file())
    question, answer = store.messages(store.chats()[0].id)
    store.close()
    assert (question.text, answer.state) == ("Count.", "stopped")
    assert answer.text.startswith("0\n1\n2\n")


@pytest.mark.slow
def test_a_dumb_terminal_gets_nothing_but_lines_and_ctrl_d_quits() -> None:
    with person(term="dumb") as someone:
        someone.wait_for("TERM is dumb")
        someone.type("/k\n")  # while the model loads: it is read afterwards
        assert "\x1b" not in someone.wait_for("K is auto.\n")
        someone.wait_for("You: ")
        someone.type("\x04")
        assert someone.end() == 0
        assert "\x1b" not in someone.seen


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("busy", [False, True])
def test_a_program_that_is_told_to_end_keeps_what_is_there(number: signal.Signals, busy: bool) -> None:
    with person("--plain") as someone:
        someone.wait_for("You: ")
        someone.type("Count.\n")
        someone.wait_for("5\n")
        if not busy:
            someone.type("\x03")
            someone.wait_for("You: ")
        someone.program.send_signal(number)
        assert someone.end() == 128 + number
    store = Store.open(locations.chats_file())
    answer = store.messages(store.chats()[0].id)[-1]
    store.close()
    assert answer.state == "stopped"
    assert answer.text.startswith("0\n1\n2\n3\n4\n5\n")


@pytest.mark.slow
@pytest.mark.real
def test_a_conversation_with_the_embedded_model() -> None:
    with person("--plain", "--max-tokens", "12", "--temp", "0", program=("-m", "app")) as someone:
        someone.wait_for("Ready: ", 300)
        someone.wait_for("You: ")
        someone.type("What is the capital of France?\n")
        someone.wait_for("Model: ", 120)
        assert "Paris" in someone.wait_for("You: ", 120)
        someone.type("/undo\n/why\n")
        someone.wait_for("Took back “What is the capital of France?”.")
        someone.wait_for("The draft source is lookup.")
        someone.type("/quit\n")
        assert someone.end(120) == 0
