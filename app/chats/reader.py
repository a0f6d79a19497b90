"""What can be looked up in the store of chats. Nothing here writes."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from app.chats import columns, database, messages
from app.chats.errors import NoSuchChat, explained, gone
from app.chats.lease import Lease
from app.chats.records import ChatInfo, ChatMessage
from app.chats.search import Hit, search

MOST = (1 << 63) - 1  # that SQLite counts to; no store has more


class Reader:
    """The chats on an open connection.

    Attributes:
        path: of the file.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.path = path
        self._db = connection
        self._lease = Lease(path)
        self._file = database.identity(path)

    @property
    def in_place(self) -> bool:
        """The file that was opened is still at its path; if it is not, nobody will find what is written."""
        return database.identity(self.path) == self._file

    @property
    def frozen(self) -> bool:
        """It can only be read, and is seen as it was when it was opened."""
        return database.frozen(self._db)

    def chats(self, *, deleted: bool = False) -> list[ChatInfo]:
        """The chats, pinned ones first, then the latest first; those deleted instead if `deleted`."""
        which = "NOT NULL" if deleted else "NULL"
        rows = self._read(
            f"SELECT {columns.CHAT} FROM chats AS c WHERE c.deleted IS {which} "
            "ORDER BY c.pinned DESC, c.touched DESC"
        )
        return [columns.chat(row) for row in rows]

    def latest(self) -> ChatInfo | None:
        """The chat, pinned or not, in which something was said last; None if there is none."""
        rows = self._read(
            f"SELECT {columns.CHAT} FROM chats AS c WHERE c.deleted IS NULL ORDER BY c.touched DESC LIMIT 1"
        )
        return columns.chat(rows[0]) if rows else None

    def info(self, chat_id: str) -> ChatInfo:
        """One chat, also a deleted one.

        Args:
            chat_id: its id, or a beginning of it that no other id has.

        Raises:
            NoSuchChat: none has it, or several do.
        """
        wanted = chat_id.strip().lower()
        rows = self._read(
            f"SELECT {columns.CHAT} FROM chats AS c WHERE substr(c.id, 1, ?) = ? ORDER BY c.touched DESC",
            (len(wanted), wanted),
        )
        if len(rows) == 1 and wanted:
            return columns.chat(rows[0])
        near = ", ".join(f"{row[0]} ({row[1] or 'untitled'})" for row in rows[:3])
        if rows and wanted:
            raise NoSuchChat(f"Several chats begin with {wanted!r}: {near}.", "Type more of the id.")
        raise NoSuchChat(f"There is no chat {chat_id!r}.", "List what there is: specchat chats list.")

    def messages(self, chat_id: str) -> list[ChatMessage]:
        """The messages of all branches in the order in which they came, so parents before children."""
        return self._messages("m.chat = ?", chat_id)

    def head(self, chat_id: str) -> int | None:
        """The message that the person looks at as the last one; None before the first."""
        rows = self._read("SELECT head FROM chats WHERE id = ?", (chat_id,))
        if not rows:
            raise gone()
        head: int | None = rows[0][0]
        return head

    def questions(self, limit: int = 200) -> list[str]:
        """The latest questions of all chats that are not deleted, the oldest of them first."""
        rows = self._read(
            "SELECT m.text FROM messages AS m JOIN chats AS c ON c.id = m.chat "
            "WHERE m.role = 'user' AND c.deleted IS NULL ORDER BY m.seq DESC LIMIT ?",
            (limit,),
        )
        return [text for (text,) in reversed(rows)]

    def openings(self, limit: int) -> list[ChatMessage]:
        """The first question of each of the latest chats that are not deleted, the oldest question first."""
        return self._messages(
            "m.seq IN (SELECT min(n.seq) FROM chats AS c JOIN messages AS n ON n.chat = c.id "
            "WHERE n.role = 'user' AND c.deleted IS NULL "
            "GROUP BY c.id ORDER BY c.touched DESC LIMIT ?)",
            min(limit, MOST),
        )

    def search(self, text: str, limit: int = 50) -> list[Hit]:
        """Where `text` stands, whatever its case and composition: the latest chats first, titles first.

        Args:
            text: searched for as it is; no character of it has a meaning.
            limit: of hits.
        """
        with explained(self.path), database.reading(self._db):
            return search(self._db, text, min(limit, MOST))

    def _messages(self, condition: str, value: object) -> list[ChatMessage]:
        with explained(self.path), database.reading(self._db):
            return messages.where(self._db, condition, value, self._lease.is_dead)

    def _read(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        with explained(self.path):
            return self._db.execute(query, values).fetchall()
