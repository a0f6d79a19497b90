"""The chat line by line: for screen readers, terminals that can do no more, and scripts."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.desk.desk import Desk


def chat_in_lines(desk: Desk, *, chosen: bool) -> int:
    """Chat until the person quits or stdin ends, and close `desk` at the end, whatever the end is.

    Args:
        desk: the open chat.
        chosen: by the person; otherwise the terminal can do no more, and that is said.

    Returns:
        The exit code: 0, or that of the failure which left the program without a model.
    """
    from app.desk.opening import close_desk
    from app.line.chat import LineChat
    from app.line.reader import Reader
    from app.line.signals import Signals
    from app.line.voice import Voice

    stdin = sys.stdin or io.StringIO()  # one that is closed has ended
    if isinstance(stdin, io.TextIOWrapper):
        stdin.reconfigure(errors="replace")  # what is no text is seen as such in the question
    voice = Voice(sys.stdout, sys.stderr)
    if not chosen:
        voice.say("TERM is dumb: this terminal has no screen, so the chat goes line by line, as by --plain.")
    try:
        with Signals() as signals:
            LineChat(desk, voice, Reader(stdin, voice, signals), signals).run()
    finally:
        voice.end_line()
        failure = close_desk(desk, told=True)
    return failure
