"""A sheet that waits for something without holding up the screen."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from textual.message import Message

from app.errors import sentence
from app.tui.sheets.sheet import Sheet

Result = TypeVar("Result")


class Asking(Sheet[Result]):
    """Asks on a thread of its own; what is below the list may be longer than elsewhere."""

    DEFAULT_CSS = """
    Asking #said { max-height: 5; }
    Asking.-tiny #said { max-height: 4; }
    """

    @dataclass
    class Answered(Message):
        """What was asked for is there, or why it is not."""

        then: Callable[[Any], None]
        found: Any = None
        error: Exception | None = None

    def ask(self, what: Callable[[], Any], then: Callable[[Any], None]) -> None:
        """Call `what` on a thread, then `then` with what it gave; a failure is said."""

        def run() -> None:
            try:
                self.post_message(self.Answered(then, what()))
            except Exception as error:  # noqa: BLE001 - nobody else hears a thread
                self.post_message(self.Answered(then, error=error))

        # No thread of the event loop's own, which would hold up the end of the program.
        threading.Thread(target=run, daemon=True).start()

    def on_asking_answered(self, message: Answered) -> None:
        """Go on with it, on the screen's own thread."""
        if message.error is not None:
            self.say(sentence(message.error))
        else:
            message.then(message.found)
