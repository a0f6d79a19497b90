"""What can go wrong with kept chats, each with the next step for the person who reads it."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.errors import UsageError
from mlx_spec.errors import SpecError


class StoreError(SpecError):
    """The store cannot do what was asked of it; what it holds is as it was."""


class StoreUnavailable(StoreError):
    """Something outside the store stands in its way, such as a full disk; it may work later."""


class NoSuchChat(StoreError, UsageError):
    """No chat, or no message, has the name that was given."""


def gone() -> NoSuchChat:
    """What is written to, or its parent, is not in the store."""
    return NoSuchChat(
        "That chat or message is no longer in the store.", "List what there is: specchat chats list."
    )


_ELSEWHERE = "set SPECCHAT_HOME to a folder that can be written"


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Failures of SQLite and of the file system within, told as sentences about the store at `path`."""
    try:
        yield
    except sqlite3.Error as error:
        raise _of_sqlite(error, path) from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _full(path) from error
        raise StoreUnavailable(
            f"Chats cannot be kept in {path.parent}: {error.strerror or error}.",
            f"Make that folder writable, or {_ELSEWHERE}.",
        ) from error


@contextmanager
def anew(target: Path) -> Iterator[None]:
    """A new file that a person named is written within; what goes wrong is told as a sentence about it.

    Raises:
        StoreError: it is there already, or cannot be written.
    """
    try:
        if target.is_dir():
            raise StoreError(f"{target} is a folder.", "Name a new file.")
        if target.exists():
            raise StoreError(f"{target} is there already.", "Name a new file.")
        yield
    except OSError as error:
        raise StoreError(
            f"{target} cannot be written: {error.strerror or error}.", "Name another file."
        ) from error


def _full(path: Path) -> StoreUnavailable:
    return StoreUnavailable(
        f"The disk is full: nothing more can be kept in {path}.", "Free some space and try again."
    )


def _of_sqlite(error: sqlite3.Error, path: Path) -> StoreError:
    code = getattr(error, "sqlite_errorcode", None)
    if code == sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
        return gone()
    if code == sqlite3.SQLITE_ERROR and str(error).startswith(("no such table", "no such column")):
        code = sqlite3.SQLITE_CORRUPT  # our tables were there when it was made
    match code and code & 0xFF:  # the rest of a code says which kind of it
        case sqlite3.SQLITE_FULL:
            return _full(path)
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return StoreUnavailable(
                f"The chats in {path} cannot be opened for writing.",
                f"Make that file and its folder writable, or {_ELSEWHERE}.",
            )
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StoreUnavailable(
                f"Another program keeps the chats in {path} busy.", "Wait a moment and try again."
            )
        case sqlite3.SQLITE_NOTADB:
            return StoreError(f"{path} is no chat store.", "Move that file away and start again.")
        case sqlite3.SQLITE_CORRUPT:
            return StoreError(
                f"The chat store {path} is damaged ({error}).",
                "Move its folder away and put a backup in its place, as docs/chats.md says.",
            )
        case sqlite3.SQLITE_IOERR:
            return StoreUnavailable(
                f"The disk fails at {path} ({error}).", "Check the disk and its connection, then try again."
            )
    return StoreError(f"The chat store {path} failed: {error}.", "Try again; if it stays, report it.")
