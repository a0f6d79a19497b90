"""Several processes use one store, and any of them may be killed at any time."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.chats.store import Store

ROOT = Path(__file__).resolve().parents[3]
STREAM = """
from app.chats.recorder import Recorder
import sys, time
from pathlib import Path
from kept import begin
recorder = Recorder(Path(sys.argv[1]), print)
_, _, answer = begin(recorder)
text, began = "", time.monotonic()
for number in range(100_000):
    text += f"{number} "
    recorder.progress(answer.id, text, [("plain", text)])
    print(number, flush=True)
    time.sleep(0.01)
"""
CROWD = """
import sys, time
from pathlib import Path
from app.chats.store import Store
while time.time() < float(sys.argv[2]):
    pass
store = Store.open(Path(sys.argv[1]))
print("open", flush=True)
chat = store.create(sys.argv[3])
parent = None
for number in range(25):
    parent = store.add(chat.id, parent=parent, role="user", text=f"{sys.argv[3]} {number}").id
store.close()
"""
TWICE = """
import sys, time
from pathlib import Path
from app.chats.store import Store
store = Store.open(Path(sys.argv[1]))
reading = Store.open(Path(sys.argv[1]))
chat = store.create("Twice")
print("open", flush=True)
sys.stdin.readline()
store.add(chat.id, parent=None, role="user", text="Kept?")
print(len(reading.messages(chat.id)), flush=True)
time.sleep(60)
"""


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a program on the store in a process of its own."""
    started: list[subprocess.Popen[str]] = []

    def begin(program: str, *arguments: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", program, *map(str, arguments)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "tests")))},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def test_a_killed_process_leaves_its_answer_interrupted_and_at_most_a_second_is_lost(
    path: Path, start: Callable
) -> None:
    writer = start(STREAM, path)
    for line in writer.stdout:
        if int(line) == 150:
            break
    witness = Store.open(path)
    (chat,) = witness.chats()
    assert witness.messages(chat.id)[-1].state == "streaming"  # its process lives
    writer.kill()  # SIGKILL
    last = int((line + writer.stdout.read()).split()[-1])

    (question, answer) = witness.messages(chat.id)  # also for whoever had the store open before
    assert (question.text, answer.state) == ("Why?", "interrupted")
    again = Store.open(path)
    assert again.messages(chat.id) == [question, answer]
    assert answer.pieces == (("plain", answer.text),)
    kept = int(answer.text.split()[-1])
    assert last - kept <= 100  # numbers, of which a second has at most 100
    assert not list(path.parent.glob("*writer*"))
    again.close()
    witness.close()


def test_an_answer_is_interrupted_when_its_store_is_closed(store: Store, path: Path) -> None:
    other = Store.open(path)
    chat = other.create()
    answer = other.add(chat.id, parent=None, role="assistant", text="so far", state="streaming")
    done = other.add(chat.id, parent=None, role="assistant", text="all", state="done")
    assert [message.state for message in store.messages(chat.id)] == ["streaming", "done"]
    other.close()
    other.close()
    assert [(message.id, message.state) for message in store.messages(chat.id)] == [
        (answer.id, "interrupted"),
        (done.id, "done"),
    ]


def test_nothing_is_lost_if_others_come_and_go_beside_two_connections_of_one_process(
    path: Path, start: Callable
) -> None:
    writer = start(TWICE, path)
    assert writer.stdout.readline() == "open\n"
    Store.open(path).close()
    writer.stdin.write("\n")
    writer.stdin.flush()
    assert writer.stdout.readline() == "1\n"
    writer.kill()
    writer.wait()
    store = Store.open(path)
    (chat,) = store.chats()
    assert [message.text for message in store.messages(chat.id)] == ["Kept?"]
    store.close()


def test_processes_that_open_a_new_store_at_the_same_moment_all_write(path: Path, start: Callable) -> None:
    moment = time.time() + 1.0
    crowd = [start(CROWD, path, moment, f"crowd{number}") for number in range(6)]
    assert [process.stdout.read() for process in crowd] == ["open\n"] * 6
    store = Store.open(path)
    chats = store.chats()
    assert sorted(chat.title for chat in chats) == [f"crowd{number}" for number in range(6)]
    for chat in chats:
        assert [m.text for m in store.messages(chat.id)] == [f"{chat.title} {n}" for n in range(25)]
    assert store._db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    store.close()


def test_two_stores_branch_one_chat(store: Store, path: Path) -> None:
    other = Store.open(path)
    chat = store.create("Shared")
    question = store.add(chat.id, parent=None, role="user", text="?")
    one = store.add(chat.id, parent=question.id, role="assistant", text="one")
    two = other.add(chat.id, parent=question.id, role="assistant", text="two")
    assert store.messages(chat.id) == other.messages(chat.id) == [question, one, two]
    other.close()


@pytest.mark.slow
def test_a_store_is_whole_whenever_its_writer_is_killed(path: Path, start: Callable) -> None:
    for wait in range(12):
        writer = start(CROWD, path, 0, f"round{wait}")
        assert writer.stdout.readline() == "open\n"
        time.sleep(wait * 0.002)
        writer.kill()
        writer.wait()
        store = Store.open(path)
        for chat in store.chats():
            texts = [message.text for message in store.messages(chat.id)]
            assert texts == [f"{chat.title} {number}" for number in range(len(texts))]
        assert store._db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        store.close()


def test_a_disk_without_locks_keeps_chats_all_the_same(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOTSUP, "Operation not supported")

    monkeypatch.setattr("app.chats.lease.fcntl.flock", refuse)
    chat = store.create()
    answer = store.add(chat.id, parent=None, role="assistant", text="", state="streaming")
    store.update(answer.id, text="so far", pieces=[("plain", "so far")], state="streaming")
    (found,) = store.messages(chat.id)
    assert (found.text, found.state) == ("so far", "interrupted")
    store.update(answer.id, text="all", pieces=[("plain", "all")], state="done")
    assert store.messages(chat.id)[0].state == "done"
