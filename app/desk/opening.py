"""The desk of a session in the terminal, from its opening to its end, whatever shows it."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.assistant.assistant import Assistant
    from app.assistant.pair import Progress
    from app.desk.desk import Desk
    from app.settings.settings import Settings
    from app.thread.worker import Worker

PATIENCE = 1.0  # seconds before a slow end is explained
LATEST = ""  # in the place of a chat's id


def open_desk(settings: Settings, chat_id: str | None = None) -> Desk:
    """A desk with its chat; nothing is loaded yet.

    Args:
        settings: what the person set.
        chat_id: of a kept chat to go on with, or LATEST; None starts a new one.

    Raises:
        StoreError: there is no such chat, or it cannot be read.
    """
    from app.desk.desk import Desk
    from app.desk.shelf import Shelf
    from app.thread.worker import Worker
    from models import locations

    shelf = Shelf(locations.chats_file())
    desk = Desk(Worker(load, replace(settings, details=True)), shelf)
    if chat_id is not None:
        desk.open(shelf.latest() if chat_id == LATEST else shelf.info(chat_id))
    return desk


def load(settings: Settings, progress: Progress) -> Assistant:
    """Load the model; for the engine thread.

    Imported there, so that the first frame waits for neither MLX nor the model.
    """
    from app.assistant.assistant import Assistant

    return Assistant.load(settings, progress)


def close_desk(desk: Desk, *, told: bool = False) -> int:
    """Let the model go and keep what is left to keep; say what nobody has seen.

    Args:
        desk: that is done with.
        told: the person can still read why there was no model.

    Returns:
        The exit code: 0, or that of the failure which left the program without a model.
    """
    from app.errors import tell
    from app.thread.events import Failed, Warned

    _close(desk.worker)
    events = desk.worker.drain()
    desk.wind_up(events)
    unsaved = desk.shelf.close()
    code = desk.failure.exit_code if desk.failure else 0
    for event in filter(None, (None if told else desk.failure, *events)):
        match event:
            case Warned():
                tell("warning", event.sentence)
            case Failed():
                tell("error", f"{event.message} {event.next_step}".strip())
                code = code or event.exit_code
    if unsaved is not None:
        tell("error", unsaved)
        code = code or 1
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
