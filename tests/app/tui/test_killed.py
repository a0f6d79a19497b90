"""Case c25: the program is killed while an answer streams."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from driver import chat
from screenplay import Scripted, rounds

from app.chats.store import Store
from app.desk.offered import first_time
from models import locations

ROOT = Path(__file__).resolve().parents[3]


def start() -> tuple[subprocess.Popen[bytes], int]:
    """The program in a terminal of its own, over an assistant that counts without end."""
    screen, terminal = pty.openpty()
    program = subprocess.Popen(
        [sys.executable, "tests/scripted.py"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}", "TERM": "xterm-256color"},
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
    )
    os.close(terminal)
    os.set_blocking(screen, False)
    return program, screen


def seen(screen: int) -> str:
    """What the program wrote since the last time."""
    try:
        return os.read(screen, 1 << 20).decode(errors="replace")
    except BlockingIOError:
        return ""


@pytest.mark.slow
async def test_the_chat_is_there_next_time_with_the_answer_so_far_marked() -> None:
    first_time()
    program, screen = start()
    try:
        text, deadline = "", time.monotonic() + 60
        while "ready" not in text and time.monotonic() < deadline:
            text += seen(screen)
            time.sleep(0.05)
        os.write(screen, b"Count.\r")
        store = None
        while time.monotonic() < deadline:
            seen(screen)
            time.sleep(0.05)
            if store is None and locations.chats_file().exists():
                store = Store.open(locations.chats_file())
            if store and any(
                "9\n" in said.text for chat in store.chats() for said in store.messages(chat.id)
            ):
                break
        assert store is not None
        last = store.messages(store.chats()[0].id)[-1]
        assert last.state == "streaming", "another living process writes it"
        store.close()
    finally:
        program.send_signal(signal.SIGKILL)
        program.wait()
        os.close(screen)
    more = Scripted([rounds("and on.")])
    async with chat(more, resume=True) as driver:
        await driver.see("■ interrupted")
        assert driver.app.desk.conversation.path[0].text == "Count."
        await driver.ask("/continue")
        await driver.see("and on.", "○ ready")
    assert more.asked[0][-1].content.startswith(last.text)
