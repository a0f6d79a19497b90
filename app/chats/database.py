"""The file of the chat store: opened safely, written in transactions, copied whole."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.chats.errors import StoreError, explained
from app.chats.migrations import APPLICATION, MIGRATIONS

PATIENCE = 10.0  # seconds that a write waits for another process


def connect(path: Path) -> sqlite3.Connection:
    """Open the file at `path`, or make it, with the newest schema; only its owner may read it.

    Raises:
        StoreError: it cannot be opened, or is not a store that this specchat knows.
    """
    with explained(path):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # SQLite gives its journals the permissions of the file.
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if os.fstat(descriptor).st_mode & 0o077:
                os.fchmod(descriptor, 0o600)
        finally:
            os.close(descriptor)
        connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
        try:
            with reading(connection):
                _version(connection, path)  # before anything is changed
            _log_ahead(connection)
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA secure_delete = ON")  # what was removed is overwritten
            _migrate(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All that is written within, or nothing; it waits for other processes before, never in between."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # a full disk may have ended it already
            connection.execute("ROLLBACK")
        raise


@contextmanager
def reading(connection: sqlite3.Connection) -> Iterator[None]:
    """One view of everything, whatever others write meanwhile."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")


def settle(connection: sqlite3.Connection) -> None:
    """Empty the log into the file as far as other readers let it, so that nothing removed is left there."""
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()


def copy(connection: sqlite3.Connection, source: Path, target: Path) -> None:
    """Write the database to the new file `target`: one file, whole or not there.

    Raises:
        StoreError: it is there already, or cannot be written.
    """
    unfinished = target.with_name(f".{target.name}.unfinished")
    try:
        if target.exists():
            raise StoreError(f"{target} is there already.", "Name a new file.")
        unfinished.unlink(missing_ok=True)  # what a backup that was killed has left
        os.close(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as error:
        raise StoreError(f"{target} cannot be written: {error.strerror}.", "Name another file.") from error
    with explained(target):
        try:
            connection.execute("VACUUM INTO ?", (str(unfinished),))
            unfinished.rename(target)
        finally:
            unfinished.unlink(missing_ok=True)


def _log_ahead(connection: sqlite3.Connection) -> None:
    """Switch to a write-ahead log, which SQLite does not wait for others to allow."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _version(connection: sqlite3.Connection, path: Path) -> int:
    """The schema's version of what is there: 0 for an empty file.

    Raises:
        StoreError: it belongs to another program, or to a newer specchat.
    """
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application != APPLICATION and (application or version or tables):
        raise StoreError(f"{path} is the database of another program.", "Move it away and start again.")
    if version > len(MIGRATIONS):
        raise StoreError(
            f"The chats in {path} were kept by a newer specchat "
            f"(schema {version}; this one knows {len(MIGRATIONS)}).",
            "Update specchat; nothing was changed.",
        )
    return int(version)


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring the store to the newest schema, all of it or nothing; another process may do so meanwhile."""
    with transaction(connection):
        steps = MIGRATIONS[_version(connection, path) :]
        for statement in (statement for step in steps for statement in step):
            connection.execute(statement)
        if steps:
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
