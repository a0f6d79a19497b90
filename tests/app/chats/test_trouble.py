"""When the store cannot be used, one sentence says so with the next step, and nothing of it is changed."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from kept import Clock

from app.chats import database, migrations
from app.chats.errors import NoSuchChat, StoreError, StoreUnavailable, explained
from app.chats.recorder import Recorder
from app.chats.store import KEPT_DAYS, Store
from app.desk.shelf import Shelf

ROOT = Path(__file__).resolve().parents[3]


def test_a_full_disk_refuses_what_is_new_and_keeps_what_is_there(store: Store, talk: Callable) -> None:
    chat, said = talk("one", "two")
    (pages,) = store._db.execute("PRAGMA page_count").fetchone()
    store._db.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreUnavailable, match=r"disk is full.* Free some space"):
        store.add(chat.id, parent=said[-1].id, role="user", text="x" * 100_000)
    assert store.messages(chat.id) == said
    store.rename(chat.id, "Still usable")
    store._db.execute("PRAGMA max_page_count = 100000")
    store.add(chat.id, parent=said[-1].id, role="user", text="x" * 100_000)
    assert len(store.messages(chat.id)) == 3


def test_a_file_that_is_no_database_is_left_alone(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"My diary. " * 1000)
    with pytest.raises(StoreError, match=r"is no chat store\. Move that file away"):
        Store.open(path)
    assert path.read_bytes() == b"My diary. " * 1000


def test_the_database_of_another_program_is_left_alone(path: Path) -> None:
    path.parent.mkdir()
    stranger = sqlite3.connect(path)
    stranger.execute("CREATE TABLE diary (day TEXT)")
    stranger.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="database of another program"):
        Store.open(path)
    assert path.read_bytes() == before


def test_a_newer_schema_is_left_alone(store: Store, path: Path, talk: Callable) -> None:
    talk("from the future")
    store._db.execute("PRAGMA user_version = 99")
    store.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"newer specchat \(schema 99.*Update specchat; nothing was changed"):
        Store.open(path)
    assert path.read_bytes() == before


def test_a_damaged_store_says_what_to_do(store: Store, path: Path, talk: Callable) -> None:
    chat, _ = talk("x" * 10_000, "y" * 10_000)
    store.close()
    whole = bytearray(path.read_bytes())
    whole[4096 * 2 :] = b"\xff" * (len(whole) - 4096 * 2)
    path.write_bytes(whole)
    with pytest.raises(StoreError, match=r"damaged .*backup"):
        Store.open(path).messages(chat.id)


def test_a_store_without_its_tables_is_damaged(store: Store, path: Path) -> None:
    store._db.execute("PRAGMA foreign_keys = OFF")
    store._db.execute("DROP TABLE chats")
    with pytest.raises(StoreError, match=r"damaged .*no such table.*backup"):
        store.chats()


def test_a_folder_in_place_of_the_file_or_a_file_in_place_of_the_folder(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"is a folder and no chat store\. Move it away"):
        Store.open(tmp_path)
    (tmp_path / "taken").write_text("")
    with pytest.raises(StoreUnavailable, match="SPECCHAT_HOME"):
        Store.open(tmp_path / "taken" / "chats.db")


WITHOUT_RIGHTS = """
import os, sys
from pathlib import Path
from app.chats.store import Store
from app.chats.errors import StoreUnavailable
if os.geteuid() == 0: os.setuid(65534)
try:
    store = Store.open(Path("chats.db"))
    print([chat.title for chat in store.chats()], [m.text for m in store.messages("abc")], store.frozen)
    store.rename("abc", "New")
except StoreUnavailable as error: print(error)
"""


def without_rights(folder: Path) -> str:
    """What is said in a folder that cannot be written; not to root, whom no permission stops."""
    folder.chmod(0o555)
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_RIGHTS],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    folder.chmod(0o755)
    assert not done.stderr
    return done.stdout


@pytest.fixture
def folder() -> Iterator[Path]:
    """One whose path everybody may walk."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def test_a_folder_that_cannot_be_written(folder: Path) -> None:
    assert "Make that folder writable, or set SPECCHAT_HOME" in without_rights(folder)
    assert not list(folder.iterdir())


def test_a_store_that_cannot_be_written_can_be_read(folder: Path) -> None:
    store = Store.open(folder / "chats.db")
    store.create("Old", chat_id="abc")
    store.add("abc", parent=None, role="user", text="Why?")
    store.close()
    (folder / "chats.db").chmod(0o444)
    read, refused = without_rights(folder).splitlines()
    assert read == "['Old'] ['Why?'] True"
    assert "cannot be opened for writing. Make that file and its folder writable" in refused
    assert [each.name for each in folder.iterdir()] == ["chats.db"]


def test_what_is_only_in_the_log_is_not_passed_over(folder: Path) -> None:
    store = Store.open(folder / "chats.db")
    store.create("New", chat_id="abc")
    (folder / "chats.db-shm").unlink()  # as after a crash
    for file in folder.iterdir():
        file.chmod(0o444)
    assert "cannot be opened for writing" in without_rights(folder)
    store.close()


@pytest.fixture
def other(store: Store, path: Path) -> Iterator[sqlite3.Connection]:
    """What another process has open."""
    connection = sqlite3.connect(path, isolation_level=None)
    yield connection
    connection.close()


def test_chats_can_be_read_while_another_process_writes(
    store: Store, path: Path, clock: Clock, talk: Callable, other: sqlite3.Connection
) -> None:
    chat, said = talk("one", "two")
    store.delete(talk("long ago")[0].id)
    other.execute("BEGIN IMMEDIATE")
    clock.now += (KEPT_DAYS + 1) * 86_400  # there is something to remove for good
    reader = Store.open(path, clock=clock, patience=0)
    assert [each.id for each in reader.chats()] == [chat.id]
    assert reader.messages(chat.id) == said
    reader.close()


def test_the_screen_is_told_of_a_busy_store_and_never_waits_for_it_long(
    store: Store, path: Path, talk: Callable, other: sqlite3.Connection
) -> None:
    chat, _ = talk("one", "two")
    other.execute("BEGIN IMMEDIATE")
    shelf = Shelf(path)
    with pytest.raises(StoreUnavailable, match=r"busy\. Wait a moment"):
        shelf.reading.pin(chat.id)
    (milliseconds,) = shelf.reading._db.execute("PRAGMA busy_timeout").fetchone()
    assert milliseconds <= 500
    shelf.close()


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (sqlite3.SQLITE_FULL, "disk is full"),
        (sqlite3.SQLITE_READONLY, "Make that file and its folder writable"),
        (sqlite3.SQLITE_CANTOPEN, "Make that file and its folder writable"),
        (sqlite3.SQLITE_BUSY, "Wait a moment and try again"),
        (sqlite3.SQLITE_IOERR | 3 << 8, "Check the disk"),
        (sqlite3.SQLITE_CORRUPT, "backup"),
        (sqlite3.SQLITE_NOTADB, "is no chat store"),
        (sqlite3.SQLITE_ERROR, "report it"),
    ],
)
def test_every_failure_of_sqlite_names_the_next_step(code: int, said: str) -> None:
    error = sqlite3.OperationalError("no")
    error.sqlite_errorcode = code
    with pytest.raises(StoreError, match=said), explained(Path("/chats.db")):
        raise error


def test_the_screen_does_not_wait_for_a_disk_that_fails(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise StoreUnavailable("The disk is full.", "Free some space.")

    monkeypatch.setattr(Store, "create", fail)
    shelf = Shelf(path)
    shelf.begin("Why?", "builtin", "lookup")
    assert shelf.reading.chats() == []  # it is not known yet that the disk fails
    monkeypatch.setattr(Recorder, "flush", lambda _: pytest.fail("the screen waited"))
    assert shelf.reading.chats() == []
    assert "kept in memory alone" in shelf.news[0]
    shelf.close()


def test_a_chat_that_was_removed_elsewhere_takes_no_other_title(store: Store, path: Path) -> None:
    shelf = Shelf(path)
    shelf.begin("Why?", "builtin", "lookup")
    shelf.rename("Because")
    assert [chat.title for chat in shelf.reading.chats()] == ["Because"]
    store.purge(shelf.open_id())
    with pytest.raises(NoSuchChat):
        shelf.rename("Therefore")
    assert shelf.close() is None  # nothing that was said is lost


def test_a_failure_that_ends_a_reading_is_the_one_that_is_told(store: Store) -> None:
    def read() -> None:
        with database.reading(store._db):
            store._db.execute("ROLLBACK")  # as SQLite does by itself where a disk is full
            raise sqlite3.OperationalError("database or disk is full")

    with pytest.raises(sqlite3.OperationalError, match="is full"):
        read()
    assert store.chats() == []


# Migrations

SAID = "SELECT text FROM messages ORDER BY seq"


def made_by(path: Path, version: int) -> None:
    """A store as the specchat of that schema left it, with a chat of two messages."""
    path.parent.mkdir(exist_ok=True)
    connection = sqlite3.connect(path)
    for step in migrations.MIGRATIONS[:version]:
        for statement in step:
            connection.execute(statement)
    if version:
        connection.execute(f"PRAGMA application_id = {migrations.APPLICATION}")
        connection.executescript(
            f"PRAGMA user_version = {version};"
            "INSERT INTO chats (id, title, folded, created, updated, touched, model, draft) "
            "VALUES ('old', 'Old', 'old', 1, 1, 1, 'builtin', 'lookup');"
            "INSERT INTO messages (id, chat, role, state, created, text) "
            "VALUES (7, 'old', 'user', 'done', 1, 'Hello'), (8, 'old', 'assistant', 'done', 1, 'Hi');"
            "INSERT INTO folded VALUES (1, 'hello'), (2, 'hi');"
        )
    connection.close()


@pytest.mark.parametrize("version", range(len(migrations.MIGRATIONS) + 1))
def test_a_store_of_any_older_schema_is_brought_up(path: Path, version: int) -> None:
    made_by(path, version)
    store = Store.open(path)
    assert [message.text for message in store.messages("old")] == (["Hello", "Hi"] if version else [])
    assert [hit.message_id for hit in store.search("HELLO")] == ([7] if version else [])
    new = store.create("New")
    store.add(new.id, parent=None, role="user", text="as ever")
    (found,) = store._db.execute("PRAGMA user_version").fetchone()
    assert found == len(migrations.MIGRATIONS)
    assert store._db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    store.close()


def schema(path: Path) -> set[str]:
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    connection.close()
    return {sql for (sql,) in rows}


def test_a_step_that_fails_leaves_the_store_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Store.open(path).close()
    before = schema(path)
    steps = (*migrations.MIGRATIONS, ("ALTER TABLE chats ADD COLUMN colour TEXT", "DROP TABLE missing"))
    monkeypatch.setattr(database, "MIGRATIONS", steps)
    with pytest.raises(StoreError, match="no such table"):
        Store.open(path)
    assert schema(path) == before
    monkeypatch.undo()
    Store.open(path).close()


def test_released_steps_never_change() -> None:
    """Whoever changes a step that was released breaks the stores that took it."""

    said = [hashlib.sha256("\0".join(step).encode()).hexdigest()[:16] for step in migrations.MIGRATIONS]
    assert said[:2] == ["582a5dda736d47aa", "738395ba9b58ad0b"]
