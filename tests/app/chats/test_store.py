"""Chats are kept as they were said, in order, and nothing that was said is destroyed."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kept import Clock, file

from app.chats.errors import NoSuchChat, StoreError
from app.chats.store import DOUBT_DAYS, KEPT_DAYS, Store
from app.files.records import Attachment, Span

DAY = 86_400.0


def test_a_chat_comes_back_as_it_was_said(store: Store, path: Path, clock: Clock) -> None:
    chat = store.create("First chat", "builtin", "lookup")
    question = store.add(
        chat.id, parent=None, role="user", text="What is in it?", attachments=[file("one\r\ntwo\n")]
    )
    answer = store.add(chat.id, parent=question.id, role="assistant", text="", state="streaming")
    span = Span(0, 3, "ab" * 32, "/notes.txt", 1, 1)
    store.update(
        answer.id,
        text="one, two",
        pieces=[("plain", "one"), ("draft:lookup", ", two")],
        state="done",
        spans=[span],
        stats={"tok_s": 12.5, "speculation": {"k": None}},
    )
    other = Store.open(path, clock=clock)
    first, second = other.messages(chat.id)
    assert first == question
    assert (second.id, second.parent, second.text, second.state) == (
        answer.id,
        question.id,
        "one, two",
        "done",
    )
    assert second.pieces == (("plain", "one"), ("draft:lookup", ", two"))
    assert second.spans == (span,)
    assert second.stats == {"tok_s": 12.5, "speculation": {"k": None}}
    (info,) = other.chats()
    assert (info.title, info.model, info.draft, info.messages) == ("First chat", "builtin", "lookup", 2)
    assert other.head(chat.id) == answer.id
    other.close()


def test_only_its_owner_can_read_it(store: Store, path: Path) -> None:
    chat = store.create("Mine")
    store.add(chat.id, parent=None, role="assistant", text="", state="streaming")
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert {stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir()} == {0o600}


def test_permissions_that_became_wide_are_narrowed(store: Store, path: Path) -> None:
    path.chmod(0o644)
    path.parent.chmod(0o755)
    Store.open(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_the_latest_chat_comes_first_and_pinned_ones_before_it(store: Store) -> None:
    first, second, third = (store.create(title) for title in ("first", "second", "third"))
    store.add(first.id, parent=None, role="user", text="again")
    assert [chat.title for chat in store.chats()] == ["first", "third", "second"]
    store.pin(second.id)
    assert [chat.title for chat in store.chats()] == ["second", "first", "third"]
    store.pin(second.id, False)
    assert [chat.title for chat in store.chats()] == ["first", "third", "second"]
    store.rename(third.id, "renamed")
    assert [chat.title for chat in store.chats()] == ["first", "renamed", "second"]


def test_a_clock_that_is_set_back_changes_no_order(store: Store, clock: Clock) -> None:
    old = store.create("old")
    question = store.add(old.id, parent=None, role="user", text="one")
    clock.now -= 400 * DAY
    answer = store.add(old.id, parent=question.id, role="assistant", text="two")
    store.create("new")
    assert [chat.title for chat in store.chats()] == ["new", "old"]
    assert [message.text for message in store.messages(old.id)] == ["one", "two"]
    assert store.questions() == ["one"]
    assert answer.created < question.created


def test_a_deleted_chat_can_be_restored_for_thirty_days(store: Store, path: Path, clock: Clock) -> None:
    chat = store.create("Gone")
    store.add(chat.id, parent=None, role="user", text="hello", attachments=[file("confidential")])
    store.delete(chat.id)
    assert store.chats() == []
    assert [each.id for each in store.chats(deleted=True)] == [chat.id]
    clock.now += (KEPT_DAYS - 1) * DAY
    Store.open(path, clock=clock).close()
    store.restore(chat.id)
    assert [each.title for each in store.chats()] == ["Gone"]
    store.delete(chat.id)
    clock.now += (KEPT_DAYS + 1) * DAY
    Store.open(path, clock=clock).close()
    clock.now += (DOUBT_DAYS + 1) * DAY
    Store.open(path, clock=clock).close()
    assert store.chats(deleted=True) == []
    assert b"confidential" not in path.read_bytes()


def test_a_clock_that_was_wrong_at_deletion_does_not_make_a_chat_look_old(
    store: Store, path: Path, clock: Clock
) -> None:
    chat = store.create("Kept")
    right, clock.now = clock.now, 0.0
    store.delete(chat.id)
    clock.now = right
    Store.open(path, clock=clock).close()
    assert [each.id for each in store.chats(deleted=True)] == [chat.id]


def test_a_clock_that_is_set_right_after_months_removes_nothing_at_once(
    store: Store, path: Path, clock: Clock
) -> None:
    clock.now -= 400 * DAY
    chat = store.create("Kept")
    store.delete(chat.id)
    clock.now += 400 * DAY
    for days in (0, DOUBT_DAYS - 1):
        clock.now += days * DAY
        Store.open(path, clock=clock).close()
        assert [each.id for each in store.chats(deleted=True)] == [chat.id]


def test_a_clock_that_was_ahead_for_a_while_keeps_nothing_for_ever(
    store: Store, path: Path, clock: Clock
) -> None:
    store.delete(store.create("Gone").id)
    for days in (4000, -4000 + KEPT_DAYS + 1, DOUBT_DAYS + 1):
        assert len(store.chats(deleted=True)) == 1
        clock.now += days * DAY
        Store.open(path, clock=clock).close()
    assert store.chats(deleted=True) == []


def test_a_long_chat_is_removed_without_a_trace(store: Store, path: Path) -> None:
    chat = store.create("Secret title")
    parent = None
    for number in range(1500):  # deeper than SQLite lets one removal trigger another
        parent = store.add(chat.id, parent=parent, role="user", text=f"secret {number}").id
    kept = store.create("Kept")
    store.purge(chat.id)
    assert [each.id for each in store.chats()] == [kept.id]
    everything = b"".join(each.read_bytes() for each in path.parent.iterdir())
    assert b"ecret" not in everything
    with pytest.raises(NoSuchChat):
        store.purge(chat.id)


def test_a_file_is_kept_once_however_often_it_is_attached(store: Store, path: Path) -> None:
    chat = store.create()
    long = file("x" * 100_000)
    parent = None
    for name in ("/a", "/a", "/b"):
        same = Attachment(name, long.sha256, long.size, long.encoding, long.text)
        parent = store.add(chat.id, parent=parent, role="user", text="?", attachments=[same]).id
    store.backup(path.parent / "copy.db")
    assert (path.parent / "copy.db").stat().st_size < 200_000
    assert [message.attachments[0].path for message in store.messages(chat.id)] == ["/a", "/a", "/b"]


def test_a_claimed_checksum_changes_no_other_file(store: Store) -> None:
    chat = store.create()
    true, false = file("the file"), file("something else")
    assert true.sha256 == false.sha256
    store.add(chat.id, parent=None, role="user", text="", attachments=[false, true])
    assert store.messages(chat.id)[0].attachments == (false, true)


def test_titles_are_one_line(store: Store) -> None:
    chat = store.create("  two\nlines\u2028and\ttabs ")
    assert chat.title == store.info(chat.id).title == "two lines and tabs"
    store.rename(chat.id, "x" * 1000)
    assert len(store.info(chat.id).title) == 200


def test_a_title_begins_where_its_words_do(store: Store) -> None:
    assert store.create(" " * 900 + "Far in").title == "Far in"


def test_a_beginning_of_an_id_is_enough(store: Store) -> None:
    store.create("Other", chat_id="abd")
    chat = store.create("This", chat_id="abc")
    assert store.info("abc").id == store.info(" ABC ").id == chat.id
    store.create("Longer", chat_id="k2m")
    assert store.info("k").title == "Longer"
    with pytest.raises(NoSuchChat, match=r"Several.*abc \(This\), abd \(Other\)"):
        store.info("ab")


@pytest.mark.parametrize("nothing", ["", " ", "zzz", "%", "_bc"])
def test_an_unknown_id_is_refused(store: Store, nothing: str) -> None:
    store.create("This", chat_id="abc")
    with pytest.raises(NoSuchChat, match="There is no chat"):
        store.info(nothing)


def test_a_message_needs_its_chat_and_a_parent_there(store: Store) -> None:
    one, other = store.create("one"), store.create("other")
    elsewhere = store.add(other.id, parent=None, role="user", text="hello")
    for chat_id, parent in (("nowhere", None), (one.id, elsewhere.id), (one.id, 12345)):
        with pytest.raises(NoSuchChat):
            store.add(chat_id, parent=parent, role="user", text="lost?")
    with pytest.raises(NoSuchChat):
        store.set_head(one.id, elsewhere.id)
    with pytest.raises(NoSuchChat):
        store.update(12345, text="", pieces=(), state="done")
    assert store.messages(one.id) == []
    assert store.head(one.id) is None


def test_the_head_goes_where_the_person_goes(store: Store, talk: Callable) -> None:
    chat, said = talk("one", "two", "three", "four")
    assert store.head(chat.id) == said[-1].id
    store.set_head(chat.id, said[1].id)
    assert store.head(chat.id) == said[1].id
    store.set_head(chat.id, None)
    assert store.head(chat.id) is None


def test_a_message_can_be_taken_back_as_long_as_nothing_follows(store: Store, talk: Callable) -> None:
    chat, (question, answer) = talk("one", "two")
    with pytest.raises(StoreError, match="follows"):
        store.withdraw(question.id)
    store.withdraw(answer.id)
    assert store.head(chat.id) == question.id
    store.withdraw(question.id)
    assert (store.head(chat.id), store.messages(chat.id), store.search("one")) == (None, [], [])
    with pytest.raises(NoSuchChat):
        store.withdraw(question.id)


def test_a_backup_is_a_store_by_itself(store: Store, tmp_path: Path, talk: Callable) -> None:
    chat, said = talk("one", "two", title="Backed up")
    target = tmp_path / "backup.db"
    store.backup(target)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    copy = Store.open(target)
    assert [each.title for each in copy.chats()] == ["Backed up"]
    assert copy.messages(chat.id) == said
    copy.close()
    with pytest.raises(StoreError, match="there already"):
        store.backup(target)
    assert not list(tmp_path.glob(".*"))


def test_half_characters_and_zero_bytes_do_no_harm(store: Store) -> None:
    chat = store.create("a\x00b\ud800")
    message = store.add(chat.id, parent=None, role="user", text="a\x00b\udc80c")
    assert message.text == "a\x00b\ufffdc"
    assert store.messages(chat.id) == [message]
    assert store.search("b\ufffdc")[0].message_id == message.id


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@st.composite
def trees(draw: st.DrawFn) -> list[tuple[int | None, str]]:
    """Messages as (position of the parent, text)."""
    count = draw(st.integers(0, 12))
    return [(draw(st.none() | st.integers(0, n - 1)) if n else None, draw(texts)) for n in range(count)]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(trees())
def test_any_tree_comes_back(store: Store, tree: list[tuple[int | None, str]]) -> None:
    chat = store.create()
    made = []
    for number, (parent, text) in enumerate(tree):
        made.append(
            store.add(
                chat.id,
                parent=None if parent is None else made[parent].id,
                role=("user", "assistant")[number % 2],
                text=text,
            )
        )
    assert store.messages(chat.id) == made


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["plain", "target", "draft:lookup"]), texts)))
def test_any_pieces_come_back(store: Store, pieces: list[tuple[str, str]]) -> None:
    chat = store.create()
    answer = store.add(chat.id, parent=None, role="assistant", text="", state="streaming")
    text = "".join(piece for _, piece in pieces)
    store.update(answer.id, text=text, pieces=pieces, state="done")
    (found,) = store.messages(chat.id)
    assert found.pieces == tuple(pieces)
    assert found.text == text
