"""The terminal in the hands of another program, and back."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from app.desk.handover import Handover
from app.display import neutralise
from app.tui.status import State

if TYPE_CHECKING:
    from app.tui.app import Chat


def hand_over(app: Chat, to: Handover) -> None:
    """Let the model go, run another program until it ends, and load the model again. Ctrl+C is the program's.

    Raises:
        SpecError: an answer is under way.
    """
    app.desk.let_go()
    app.drain()
    try:
        with app.suspend(), _interrupts_elsewhere(app):
            sys.stdout.write(neutralise(f"{to.sentence}\n\n$ {to.command}\n"))
            sys.stdout.flush()
            sys.stdout.write(f"\n{to.run()} Enter goes back to the chat.\n")
            sys.stdout.flush()
            sys.stdin.readline()
    finally:
        app.desk.employ()
    app.stage.change(State.LOADING)
    app.stage.say("Loading the model again.")


@contextmanager
def _interrupts_elsewhere(app: Chat) -> Iterator[None]:
    """Ctrl+C reaches every program at the terminal: it must end the other one, not this one too."""
    loop = asyncio.get_running_loop()
    loop.remove_signal_handler(signal.SIGINT)
    # Not SIG_IGN, which the other program would inherit.
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        loop.add_signal_handler(signal.SIGINT, app.exit, 128 + signal.SIGINT)
