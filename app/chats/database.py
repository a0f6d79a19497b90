"""The file of the chat store: opened safely, written in transactions, copied whole."""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from app.chats.errors import StoreError, anew, explained
from app.chats.migrations import APPLICATION, MIGRATIONS

PATIENCE = 10.0  # seconds that a write waits for another process
_UNWRITABLE = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
_MAKING = threading.Lock()


def connect(path: Path, patience: float = PATIENCE) -> sqlite3.Connection:
    """Open the file at `path`, or make it, with the newest schema; only its owner may read it.

    Nothing is written to a store that is up to date, so it can be read while another process writes. One that
    lies where nothing can be written can only be read.

    Args:
        path: of the file.
        patience: seconds that a write waits for another process.

    Raises:
        StoreError: it cannot be opened, or is not a store that this specchat knows.
    """
    with explained(path):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _make(path)
        try:
            connection, version = _opened(path.absolute().as_uri(), path, patience)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in _UNWRITABLE or _logged(path):
                raise
            # A reader needs files beside the store too, unless nobody writes to it.
            connection, version = _opened(f"{path.absolute().as_uri()}?immutable=1", path, patience)
            connection.execute("PRAGMA query_only = ON")
        try:
            if not frozen(connection):
                _log_ahead(connection, patience)
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA secure_delete = ON")  # what was removed is overwritten
            if version < len(MIGRATIONS):
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
        if connection.in_transaction:  # a failure may have ended it already
            connection.execute("ROLLBACK")


def identity(path: Path) -> tuple[int, int] | None:
    """What tells the file at `path` from any other; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def frozen(connection: sqlite3.Connection) -> bool:
    """The store can only be read, and is seen as it was when it was opened."""
    (only,) = connection.execute("PRAGMA query_only").fetchone()
    return bool(only)


def settle(connection: sqlite3.Connection) -> None:
    """Empty the log into the file as far as other readers let it, so that nothing removed is left there."""
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()


def copy(connection: sqlite3.Connection, source: Path, target: Path) -> None:
    """Write the database to the new file `target`: one file, whole or not there.

    Raises:
        StoreError: it is there already, or cannot be written.
    """
    with explained(target), anew(target):
        unfinished = target.with_name(f".{target.name}.unfinished")
        try:
            unfinished.unlink(missing_ok=True)  # what a backup that was killed has left
            os.close(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            connection.execute("VACUUM INTO ?", (str(unfinished),))
            unfinished.rename(target)
        finally:
            unfinished.unlink(missing_ok=True)


def _opened(uri: str, path: Path, patience: float) -> tuple[sqlite3.Connection, int]:
    """A connection to the file at `path`, and the schema's version; nothing is changed."""
    connection = sqlite3.connect(uri, timeout=patience, isolation_level=None, uri=True)
    try:
        with reading(connection):
            return connection, _version(connection, path)
    except BaseException:
        connection.close()
        raise


def _logged(path: Path) -> bool:
    """There may be changes beside the file that are not in it yet."""
    log = path.with_name(f"{path.name}-wal")
    return log.exists() and log.stat().st_size > 0


def _make(path: Path) -> None:
    """See that there is a file that only its owner may read; SQLite gives its journals the same permissions.

    Whoever closes any descriptor of a file drops all POSIX locks that his process has on it. SQLite's are
    such, and without them another process removes the log while this one goes on writing to it. So the file
    is opened by hand only where it is new, and before any connection of this process can be there.
    """
    with _MAKING, suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    if path.is_dir():
        raise StoreError(f"{path} is a folder and no chat store.", "Move it away and start again.")
    _close_to_others(path)
    _close_to_others(path.parent)


def _close_to_others(path: Path) -> None:
    """Take all permissions of group and others; what belongs to somebody else is theirs to close."""
    found = path.stat()
    if found.st_uid == os.geteuid() and found.st_mode & 0o077:
        try:
            path.chmod(stat.S_IMODE(found.st_mode) & 0o700)
        except OSError as error:
            if error.errno != errno.EROFS:  # what such a disk holds can still be read
                raise


def _log_ahead(connection: sqlite3.Connection, patience: float) -> None:
    """Switch to a write-ahead log, which SQLite does not wait for others to allow."""
    deadline = time.monotonic() + patience
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
        for step in MIGRATIONS[_version(connection, path) :]:
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
