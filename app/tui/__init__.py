"""The terminal UI."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.assistant import Assistant
    from app.pair import Progress
    from app.settings import Settings
    from app.worker import Worker

PATIENCE = 1.0  # seconds before a slow end is explained


def run(settings: Settings) -> int:
    """Chat until the user quits.

    Returns:
        The exit code: 0, or that of the failure which left the program without a model.
    """
    from app.worker import Worker

    return chat(Worker(loader(settings)))


def loader(settings: Settings) -> Callable[[Progress], Assistant]:
    """What the engine thread calls to load the model."""

    def load(progress: Progress) -> Assistant:
        # Imported on the engine thread, so that the first frame waits for neither MLX nor the model.
        from app.assistant import Assistant

        return Assistant.load(replace(settings, details=True), progress)

    return load


def chat(worker: Worker) -> int:
    """Show the screen over `worker`, and close it at the end, whatever the end is."""
    from app.errors import tell
    from app.events import Failed, Warned
    from app.tui.app import Chat

    app = Chat(worker)
    try:
        code = app.run() or app.return_code or 0
    finally:
        _close(worker)
    # The screen that showed the first failure is gone by now; nobody has seen the rest.
    for event in filter(None, (app.failure, *worker.drain())):
        match event:
            case Warned():
                tell("warning", event.sentence)
            case Failed():
                tell("error", f"{event.message} {event.next_step}".strip())
                code = code or event.exit_code
    return code


def _close(worker: Worker) -> None:
    from app.errors import tell
    from app.interrupt import first_calls

    waiting = "The engine is still busy. Ctrl+C twice leaves without it."
    explain = threading.Timer(PATIENCE, tell, ("warning", waiting))
    explain.daemon = True
    explain.start()
    with first_calls(worker.stop):
        worker.close()
    explain.cancel()
