"""The terminal UI."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.desk.desk import Desk


def chat(desk: Desk) -> int:
    """Show the screen over `desk` until the user quits, and close it at the end, whatever the end is.

    Returns:
        The exit code: 0, or that of the failure which left the program without a model.
    """
    from app.desk.opening import close_desk
    from app.tui.app import Chat

    app = Chat(desk)
    try:
        code = app.run() or app.return_code or 0
    finally:
        app.stock.close()
        failure = close_desk(desk)
    return code or failure
