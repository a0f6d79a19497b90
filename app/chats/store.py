"""The chats of a person, in one SQLite file that several specchat processes may use at once.

What is written is there after a crash of the process. Order comes from counters that only grow, never from
the clock. A store belongs to the thread that opened it; open another one for another thread, it is cheap.
"""

from __future__ import annotations

import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from app.chats import columns, contents, database, folding
from app.chats.errors import NoSuchChat, explained, gone
from app.chats.lease import Lease
from app.chats.records import Attachment, ChatInfo, ChatMessage, MessageState, Role, Span
from app.chats.search import Hit, search

KEPT_DAYS = 30  # a deleted chat can be restored for so long
_NEXT_TOUCH = "(SELECT coalesce(max(touched), 0) + 1 FROM chats)"
_ALPHABET = "23456789abcdefghjkmnpqrstvwxyz"  # of ids: no two that look alike


def new_chat_id() -> str:
    """An id that no chat has."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(8))


def new_message_id() -> int:
    """An id that no message has; JSON numbers hold it exactly. It says nothing about the order."""
    return secrets.randbits(52) + 1


class Store:
    """All chats; see the head of this file."""

    def __init__(self, connection: sqlite3.Connection, path: Path, clock: Callable[[], float]) -> None:
        self.path = path
        self._db = connection
        self._clock = clock
        self._lease = Lease(path)
        self._closed = False

    @classmethod
    def open(cls, path: Path, *, clock: Callable[[], float] = time.time) -> Store:
        """Open the store, which is made if it is not there.

        Answers whose process died become "interrupted", and chats deleted long ago are removed for good.

        Args:
            path: of the file.
            clock: seconds since 1970.

        Raises:
            StoreError: it cannot be opened; the sentence says why.
        """
        store = cls(database.connect(path), path, clock)
        try:
            with store._writing():
                store._sweep()
                store._purge("deleted < ?", clock() - KEPT_DAYS * 86_400)
        except BaseException:
            store._db.close()
            raise
        return store

    def close(self) -> None:
        """Close the file. Answers that were being written are interrupted. May be called more than once."""
        if self._closed:
            return
        self._closed = True
        try:
            with self._writing():
                self._interrupt(self._lease.writer)
        finally:
            self._lease.release()
            self._db.close()

    # Reading

    def chats(self, *, deleted: bool = False) -> list[ChatInfo]:
        """The chats, pinned ones first, then the latest first; those deleted instead if `deleted`."""
        which = "NOT NULL" if deleted else "NULL"
        rows = self._read(
            f"SELECT {columns.CHAT} FROM chats AS c WHERE c.deleted IS {which} "
            "ORDER BY c.pinned DESC, c.touched DESC"
        )
        return [columns.chat(row) for row in rows]

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
        rows = self._messages(chat_id)
        if any(state == "streaming" for _, _, _, _, _, state, *_ in rows):
            with self._writing():
                self._sweep()
            rows = self._messages(chat_id)
        with explained(self.path):
            attachments = contents.attached(self._db, chat_id)
        return [columns.message(row, attachments.get(row[0], ())) for row in rows]

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

    def search(self, text: str, limit: int = 50) -> list[Hit]:
        """Where `text` stands, whatever its case and composition: the latest chats first, titles first.

        Args:
            text: searched for as it is; no character of it has a meaning.
            limit: of hits.
        """
        with explained(self.path), database.reading(self._db):
            return search(self._db, text, limit)

    # Writing

    def create(
        self, title: str = "", model: str = "", draft: str = "", *, chat_id: str | None = None
    ) -> ChatInfo:
        """A new chat without messages.

        Args:
            title: becomes one line.
            model, draft: as options name them.
            chat_id: from `new_chat_id`; None takes a new one.
        """
        now = self._clock()
        chat = ChatInfo(chat_id or new_chat_id(), columns.one_line(title), now, now, model=model, draft=draft)
        with self._writing():
            self._db.execute(
                "INSERT INTO chats (id, title, folded, created, updated, touched, model, draft) "
                f"VALUES (?, ?, ?, ?, ?, {_NEXT_TOUCH}, ?, ?)",
                (chat.id, chat.title, folding.fold(chat.title), now, now, model, draft),
            )
        return chat

    def add(
        self,
        chat_id: str,
        *,
        parent: int | None,
        role: Role,
        text: str,
        state: MessageState = "done",
        attachments: Sequence[Attachment] = (),
        message_id: int | None = None,
        created: float | None = None,
    ) -> ChatMessage:
        """A new message, which becomes the chat's head.

        Args:
            chat_id: of the chat.
            parent: id of the message before it in the same chat; None makes a first one.
            role, text, state: as in the record.
            attachments: each text is kept once, however often it is attached.
            message_id: from `new_message_id`; None takes a new one.
            created: seconds since 1970; None takes the clock's.

        Raises:
            NoSuchChat: the chat or the parent is not there.
        """
        ident = new_message_id() if message_id is None else message_id
        now = self._clock() if created is None else created
        text = columns.storable(text)
        with self._writing():
            writer = self._lease.hold() if state == "streaming" else None
            self._db.execute(
                "INSERT INTO messages (id, chat, parent, role, state, writer, created, text) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (ident, chat_id, parent, role, state, writer, now, text),
            )
            ((seq,),) = self._db.execute("SELECT seq FROM messages WHERE id = ?", (ident,))
            self._db.execute("INSERT INTO folded VALUES (?, ?)", (seq, folding.fold(text)))
            for position, attachment in enumerate(attachments):
                contents.attach(self._db, seq, position, attachment)
            self._touch(chat_id)
            self._change("UPDATE chats SET head = ? WHERE id = ?", ident, chat_id)
        return ChatMessage(ident, parent, role, text, state, now, tuple(attachments))

    def update(
        self,
        message_id: int,
        *,
        text: str,
        pieces: Sequence[tuple[str, str]],
        state: MessageState,
        spans: Sequence[Span] = (),
        stats: dict[str, Any] | None = None,
    ) -> None:
        """An answer as far as it is, or as it ended.

        Args:
            message_id: of the answer.
            text, state, spans, stats: as in the record.
            pieces: of `text`.

        Raises:
            NoSuchChat: it is not there.
        """
        text = columns.storable(text)
        with self._writing():
            writer = self._lease.hold() if state == "streaming" else None
            self._change(
                "UPDATE messages SET text = ?, pieces = ?, state = ?, writer = ?, spans = ?, stats = ? "
                "WHERE id = ?",
                text,
                columns.of_pieces(pieces),
                state,
                writer,
                columns.of_spans(spans),
                columns.of_stats(stats),
                message_id,
            )
            ((seq, chat_id),) = self._db.execute(
                "SELECT seq, chat FROM messages WHERE id = ?", (message_id,)
            ).fetchall()
            self._db.execute("UPDATE folded SET text = ? WHERE message = ?", (folding.fold(text), seq))
            if state != "streaming":
                self._touch(chat_id)

    def set_head(self, chat_id: str, message_id: int | None) -> None:
        """Remember where the person is."""
        self._set(chat_id, "head = ?", message_id)

    def answered_by(self, chat_id: str, model: str, draft: str) -> None:
        """Remember which model and draft source answered last, as options name them."""
        self._set(chat_id, "model = ?, draft = ?", model, draft)

    def rename(self, chat_id: str, title: str) -> None:
        """Give a chat another title, which becomes one line."""
        title = columns.one_line(title)
        self._set(chat_id, "title = ?, folded = ?", title, folding.fold(title))

    def pin(self, chat_id: str, pinned: bool = True) -> None:
        """Keep a chat on top of the list, or no longer."""
        self._set(chat_id, "pinned = ?", int(pinned))

    def delete(self, chat_id: str) -> None:
        """Take a chat out of the list; it can be restored for `KEPT_DAYS` days."""
        # Not before its last message: a clock that was wrong must not make it look old.
        self._set(chat_id, "deleted = max(?, updated)", self._clock())

    def restore(self, chat_id: str) -> None:
        """Take back `delete`."""
        self._set(chat_id, "deleted = NULL")

    def purge(self, chat_id: str) -> None:
        """Remove a chat for good, with the files that no other chat has."""
        with self._writing():
            if not self._purge("id = ?", chat_id):
                raise gone()

    def backup(self, path: Path) -> None:
        """Write all there is to a new file, which is a store by itself. Others may write meanwhile.

        Raises:
            StoreError: the file is there already, or cannot be written.
        """
        database.copy(self._db, self.path, path)

    # Inside

    def _read(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        with explained(self.path):
            return self._db.execute(query, values).fetchall()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """All that is written within, or nothing; a part of what is already being written, if so."""
        with explained(self.path):
            if self._db.in_transaction:
                yield
                return
            with database.transaction(self._db):
                yield

    def _change(self, statement: str, *values: Any) -> None:
        """Change one row, which must be there."""
        if self._db.execute(statement, values).rowcount != 1:
            raise gone()

    def _set(self, chat_id: str, assignments: str, *values: Any) -> None:
        with self._writing():
            self._change(f"UPDATE chats SET {assignments} WHERE id = ?", *values, chat_id)

    def _messages(self, chat_id: str) -> list[Any]:
        return self._read(
            f"SELECT {columns.MESSAGE} FROM messages AS m WHERE m.chat = ? ORDER BY m.seq", (chat_id,)
        )

    def _touch(self, chat_id: str) -> None:
        """Make a chat the latest one."""
        self._change(
            f"UPDATE chats SET updated = ?, touched = {_NEXT_TOUCH} WHERE id = ?", self._clock(), chat_id
        )

    def _sweep(self) -> None:
        """Interrupt the answers whose writers are dead."""
        self._lease.sweep()
        writers = self._db.execute("SELECT DISTINCT writer FROM messages WHERE writer IS NOT NULL").fetchall()
        for (writer,) in writers:
            if self._lease.is_dead(writer):
                self._interrupt(writer)

    def _interrupt(self, writer: str) -> None:
        self._db.execute(
            "UPDATE messages SET state = 'interrupted', writer = NULL WHERE writer = ?", (writer,)
        )

    def _purge(self, which: str, value: Any) -> int:
        """Remove chats for good; returns how many."""
        removed = self._db.execute(f"DELETE FROM chats WHERE {which}", (value,)).rowcount
        if removed:
            contents.sweep(self._db)
        return removed
