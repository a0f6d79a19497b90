"""The terminal UI."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.assistant import Assistant
    from app.settings import Settings
    from app.worker import Progress, Worker


def run(settings: Settings) -> int:
    """Chat until the user quits.

    Returns:
        The exit code: 0, or that of the failure which left the program without a model.
    """
    from app.worker import Worker

    def load(progress: Progress) -> Assistant:
        # Imported on the engine thread, so that the first frame waits for neither MLX nor the model.
        from app.assistant import Assistant

        return Assistant.load(settings, progress)

    return chat(Worker(load))


def chat(worker: Worker) -> int:
    """Show the screen over `worker`, and close it at the end, whatever the end is."""
    from app.errors import tell
    from app.tui.app import Chat

    app = Chat(worker)
    try:
        code = app.run() or app.return_code or 0
    finally:
        worker.close()
    if app.failure is None:
        return code
    # The screen that showed it is gone by now.
    tell("error", f"{app.failure.message} {app.failure.next_step}".strip())
    return code or app.failure.exit_code
