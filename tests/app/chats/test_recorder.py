"""The recorder keeps up with a chat, and holds on to what cannot be written now."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kept import begin

from app.chats.errors import StoreUnavailable
from app.chats.recorder import GONE, Recorder
from app.chats.records import ChatMessage
from app.chats.store import Store, new_message_id


class Disk:
    """Under the store; may be broken, or slow.

    Attributes:
        writes: texts of answers, as they were written.
    """

    def __init__(self) -> None:
        self.broken = False
        self.writes: list[str] = []
        self.gate = threading.Event()
        self.gate.set()

    def open(self, path: Path) -> Store:
        self.check()
        return Store.open(path)

    def check(self) -> None:
        if self.broken:
            raise StoreUnavailable("The disk is full.", "Free some space.")


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    disk, update = Disk(), Store.update

    def slowly(store: Store, message_id: int, **fields: Any) -> None:
        disk.gate.wait(5)
        disk.check()
        disk.writes.append(fields["text"])
        update(store, message_id, **fields)

    monkeypatch.setattr(Store, "update", slowly)
    return disk


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def recorder(path: Path, disk: Disk, said: list[str]) -> Iterator[Recorder]:
    made = Recorder(path, said.append, open=disk.open, interval=0.05, retry=0.01)
    yield made
    made.close()


@pytest.fixture
def kept(path: Path) -> Iterator[Store]:
    store = Store.open(path)
    yield store
    store.close()


def stream(recorder: Recorder) -> tuple[str, int]:
    """A chat whose answer is under way: its id and the answer's."""
    chat, _, answer = begin(recorder)
    return chat, answer.id


def test_what_is_said_is_kept_under_the_ids_that_were_given_before(recorder: Recorder, kept: Store) -> None:
    chat, question, answer = begin(recorder, "Two\nlines")
    recorder.settle(answer.id, text="So.", pieces=[("plain", "So.")], state="done", stats={"tok_s": 9.0})
    recorder.run(Store.pin, chat)
    assert recorder.flush()
    (found,) = kept.chats()
    assert (found.id, found.title, found.pinned, found.messages) == (chat, "Two lines", True, 2)
    assert (found.model, found.draft) == ("builtin", "lookup")
    first, second = kept.messages(chat)
    assert first == question
    assert second == replace(
        answer, text="So.", pieces=(("plain", "So."),), state="done", stats={"tok_s": 9.0}
    )


def test_an_answer_is_written_now_and_then_and_its_end_at_once(
    recorder: Recorder, disk: Disk, kept: Store
) -> None:
    chat, answer = stream(recorder)
    text = ""
    began = time.monotonic()
    while time.monotonic() - began < 0.3:
        text += "x"
        recorder.progress(answer, text, [("plain", text)])
        time.sleep(0.001)
    recorder.settle(answer, text="the end", pieces=[("plain", "the end")], state="stopped")
    assert recorder.flush()
    assert 2 <= len(disk.writes) <= 9  # of some 200
    assert disk.writes[-1] == "the end"
    assert kept.messages(chat)[-1].state == "stopped"


def test_nobody_waits_for_a_slow_disk(recorder: Recorder, disk: Disk, kept: Store) -> None:
    disk.gate.clear()
    chat, answer = stream(recorder)
    for number in range(1000):
        recorder.progress(answer, f"{number}", [("plain", f"{number}")])
    recorder.settle(answer, text="end", pieces=[("plain", "end")], state="done")
    assert disk.writes == []
    assert not recorder.flush(0.01)
    disk.gate.set()
    assert recorder.flush()
    assert kept.messages(chat)[-1].text == "end"


def test_a_disk_that_fails_is_told_once_and_all_is_written_when_it_works_again(
    recorder: Recorder, disk: Disk, said: list[str], kept: Store
) -> None:
    disk.broken = True
    chat, answer = stream(recorder)
    recorder.progress(answer, "so", [("plain", "so")])
    recorder.settle(answer, text="so far", pieces=[("plain", "so far")], state="done")
    recorder.run(Store.rename, chat, "Renamed")
    assert not recorder.flush(0.1)
    assert said == ["The disk is full. Free some space. Until then this chat is kept in memory alone."]
    disk.broken = False
    assert recorder.flush()
    assert said[1:] == ["Everything is saved again."]
    assert [message.text for message in kept.messages(chat)] == ["Why?", "so far"]
    assert kept.info(chat).title == "Renamed"


def test_a_disk_that_fails_in_mid_answer(
    recorder: Recorder, disk: Disk, said: list[str], kept: Store
) -> None:
    chat, answer = stream(recorder)
    assert recorder.flush()
    disk.broken = True
    recorder.progress(answer, "a", [("plain", "a")])
    assert not recorder.flush(0.1)
    assert kept.messages(chat)[-1].state == "interrupted"  # nobody writes it now
    recorder.progress(answer, "ab", [("plain", "ab")])
    disk.broken = False
    assert recorder.flush()
    assert (kept.messages(chat)[-1].text, kept.messages(chat)[-1].state) == ("ab", "streaming")


def test_what_can_never_be_written_is_told_and_holds_nothing_up(
    recorder: Recorder, said: list[str], kept: Store
) -> None:
    chat, answer = stream(recorder)
    assert recorder.flush()
    kept.purge(chat)
    for text in ("a", "b"):
        recorder.progress(answer, text, [("plain", text)])
        recorder.flush()
    other = recorder.create("Other")
    assert recorder.flush()
    assert len(said) == 1
    assert "no longer in the store" in said[0]
    assert [each.id for each in kept.chats()] == [other.id]


def test_who_goes_on_in_a_chat_that_was_removed_elsewhere_is_told_at_each_question_and_at_the_end(
    path: Path, said: list[str], kept: Store
) -> None:
    recorder = Recorder(path, said.append)
    chat, _ = stream(recorder)
    assert recorder.flush()
    kept.purge(chat)
    for number in (1, 2):
        question = ChatMessage(new_message_id(), None, "user", "Still there?")
        recorder.add(chat, question)
        recorder.add(chat, ChatMessage(new_message_id(), question.id, "assistant", "", "streaming"))
        assert recorder.flush()
        assert said == [GONE] * number
    lost = recorder.close()
    assert lost is not None
    assert lost.endswith(GONE)


@pytest.mark.parametrize("folder", [False, True])
def test_a_store_that_is_moved_away_is_noticed_once_and_another_is_made(
    path: Path, said: list[str], folder: bool
) -> None:
    recorder = Recorder(path, said.append)
    chat, answer = stream(recorder)
    assert recorder.flush()
    moved = path.parent if folder else path
    elsewhere = moved.rename(moved.with_name("elsewhere"))
    for text in ("So", "So far"):
        recorder.progress(answer, text, [("plain", text)])
        assert recorder.flush()
    assert len(said) == 1
    assert said[0].startswith(f"{path} was moved or deleted")
    recorder.add(chat, ChatMessage(new_message_id(), answer, "user", "And now?"))
    assert recorder.flush()
    assert said[1:] == [GONE]
    begin(recorder, "Another")
    assert recorder.close() is not None
    store = Store.open(path)
    assert [each.title for each in store.chats()] == ["Another"]
    store.close()
    if folder:  # and so the log with it
        store = Store.open(elsewhere / path.name)
        assert store.info(chat).messages == 2
        store.close()


def test_a_store_that_is_deleted_after_the_last_word_is_noticed_at_the_end(
    path: Path, said: list[str]
) -> None:
    recorder = Recorder(path, said.append)
    stream(recorder)
    assert recorder.flush()
    path.unlink()
    assert "moved or deleted" in (recorder.close() or "")


def test_an_answer_that_is_withdrawn_is_not_written_any_more(
    path: Path, said: list[str], kept: Store
) -> None:
    recorder = Recorder(path, said.append, interval=60)
    chat, answer = stream(recorder)
    recorder.progress(answer, "", [])
    recorder.flush()  # the next one would be due in a minute
    recorder.progress(answer, "", [])
    recorder.withdraw(answer)
    assert recorder.close() is None
    assert [message.text for message in kept.messages(chat)] == ["Why?"]
    assert said == []


def test_closing_writes_what_is_left(path: Path, kept: Store, said: list[str]) -> None:
    recorder = Recorder(path, said.append, interval=60)
    chat, answer = stream(recorder)
    for text in ("first", "second"):
        recorder.progress(answer, text, [("plain", text)])
        time.sleep(0.05)
    assert recorder.close() is None
    assert [m.text for m in kept.messages(chat)] == ["Why?", "second"]
    assert kept.messages(chat)[-1].state == "interrupted"


def test_closing_says_what_is_lost(path: Path, disk: Disk, said: list[str]) -> None:
    disk.broken = True
    recorder = Recorder(path, said.append, open=disk.open, retry=60)
    recorder.create("Lost")
    assert recorder.close() == "The last changes to your chats are lost. The disk is full. Free some space."
    assert len(said) == 1


def test_a_store_that_is_no_database_lets_the_chat_go_on(path: Path, said: list[str]) -> None:
    path.parent.mkdir()
    path.write_text("A diary. " * 100)
    recorder = Recorder(path, said.append, retry=60)
    stream(recorder)
    recorder.flush(0.2)
    assert len(said) == 1
    assert "Move that file away" in said[0]
    assert recorder.close() is not None
    assert path.read_text() == "A diary. " * 100


def test_threads_may_share_a_recorder(recorder: Recorder, kept: Store) -> None:
    def talk(number: int) -> None:
        _, answer = stream(recorder)
        recorder.settle(answer, text=f"{number}", pieces=[], state="done")

    threads = [threading.Thread(target=talk, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert recorder.flush(5)
    answers = [kept.messages(chat.id)[-1].text for chat in kept.chats()]
    assert sorted(answers) == [f"{number}" for number in range(8)]
