"""A disk that fails while one talks: the answer goes on, it is said, and nothing is lost that need be."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from driver import chat
from screenplay import Scripted, rounds
from tmux import needs_tmux, pane

from app.chats.recorder import Recorder
from app.chats.records import ChatMessage
from app.chats.store import Store
from models import locations

WORDS = [f"word{number} " * 200 for number in range(40)]  # more than there is room for
WIDE = (200, 24)  # a sentence is a line
ROOM = 8  # pages of 4 KB


@dataclass
class Disk:
    """The disk of the chats: how much their file may grow yet, in pages."""

    room: int = ROOM


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    """One with little room."""
    small, update, sizes = Disk(), Store.update, list[int]()

    def write(store: Store, *values: Any, **named: Any) -> None:
        sizes.append(store._db.execute("PRAGMA page_count").fetchone()[0])
        store._db.execute(f"PRAGMA max_page_count = {sizes[0] + small.room}")
        update(store, *values, **named)

    monkeypatch.setattr(Store, "update", write)
    monkeypatch.setitem(Recorder.__init__.__kwdefaults__, "interval", 0.02)
    monkeypatch.setitem(Recorder.__init__.__kwdefaults__, "retry", 0.02)
    return small


def kept() -> list[ChatMessage]:
    """What is on the disk of the latest chat."""
    store = Store.open(locations.chats_file())
    latest = store.latest()
    assert latest is not None
    messages = store.messages(latest.id)
    store.close()
    return messages


async def test_a_disk_that_is_full_in_mid_answer_loses_nothing_once_there_is_room(disk: Disk) -> None:
    async with chat(Scripted([rounds(*WORDS), rounds("And more.")], pace=0.01), size=WIDE) as driver:
        await driver.ask("Tell.")
        await driver.see("disk is full", "kept in memory alone")
        await driver.see("word39 ", "○ ready")
        disk.room = 1000
        await driver.see("Everything is saved again.")
        await driver.ask("More?")
        await driver.see("And more.", "○ ready")
    assert [message.text for message in kept()] == ["Tell.", "".join(WORDS), "More?", "And more."]


async def test_a_disk_that_stays_full_keeps_what_was_written_and_the_end_says_so(disk: Disk) -> None:
    async with chat(Scripted([rounds(*WORDS)], pace=0.01), saved=False, size=WIDE) as driver:
        await driver.ask("Tell.")
        await driver.see("disk is full", "word39 ", "○ ready")
    question, answer = kept()
    assert (question.text, answer.state) == ("Tell.", "interrupted")
    assert "".join(WORDS).startswith(answer.text)


@pytest.fixture
def locked() -> Iterator[Path]:
    """A folder that nobody may write."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o555)
        yield folder
        folder.chmod(0o755)


@pytest.mark.slow
@needs_tmux
def test_a_home_that_cannot_be_written_is_told_and_the_chat_goes_on(
    locked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPECCHAT_HOME", str(locked))
    with pane(*WIDE) as person:
        if os.geteuid() == 0:  # no permission stops root, but for a root that has no capabilities
            if shutil.which("setpriv") is None:
                pytest.skip("this is root, and setpriv is not installed")
            person.type("exec setpriv --inh-caps=-all --bounding-set=-all sh")
            person.press("Enter")
        person.run("tests/scripted.py")
        person.see("○ ready")
        person.ask("Count.")
        person.see("! ", "Until then this chat is kept in memory alone.")
        person.press("Escape")
        person.see("■ stopped")
        person.press("C-q")
        person.see("The last changes to your chats are lost.")
    assert not list(locked.iterdir())
