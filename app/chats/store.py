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
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.chats import columns, database, folding, messages
from app.chats.errors import NoSuchChat, StoreError, explained, gone
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
        found = self._messages(chat_id)
        if any(message.state == "streaming" for message in found):
            with self._writing():
                self._sweep()
            found = self._messages(chat_id)
        return found

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
            return self._create(chat)

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
        message = ChatMessage(
            new_message_id() if message_id is None else message_id,
            parent,
            role,
            columns.storable(text),
            state,
            self._clock() if created is None else created,
            tuple(attachments),
        )
        with self._writing():
            messages.insert(self._db, chat_id, message, self._writer_of(state))
            self._touch(chat_id)
            self._change("UPDATE chats SET head = ? WHERE id = ?", message.id, chat_id)
        return message

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
        answer = ChatMessage(
            message_id,
            None,
            "assistant",
            columns.storable(text),
            state,
            pieces=tuple(pieces),
            spans=tuple(spans),
            stats=stats,
        )
        with self._writing():
            chat_id = messages.update(self._db, answer, self._writer_of(state))
            if state != "streaming":
                self._touch(chat_id)

    def withdraw(self, message_id: int) -> None:
        """Take back a message that nothing follows; the head goes to its parent if it was there.

        Raises:
            NoSuchChat: it is not there.
            StoreError: something follows it.
        """
        with self._writing():
            found = self._db.execute(
                "SELECT chat, parent FROM messages WHERE id = ?", (message_id,)
            ).fetchone()
            if found is None:
                raise gone()
            if self._db.execute(
                "SELECT 1 FROM messages WHERE (chat, parent) = (?, ?)", (found[0], message_id)
            ).fetchone():
                raise StoreError("Something follows this message.", "Take that back first.")
            self._db.execute(
                "UPDATE chats SET head = ? WHERE (id, head) = (?, ?)", (found[1], found[0], message_id)
            )
            self._change("DELETE FROM messages WHERE id = ?", message_id)
            messages.forget_contents(self._db)

    def take(self, chat: ChatInfo, tree: Sequence[ChatMessage], head: int | None) -> ChatInfo:
        """A chat from elsewhere as a new one: everything as given, but for the ids.

        Args:
            chat: of which title, times, pin, model and draft count.
            tree: its messages, parents before children.
            head: the id of one of them, or None.
        """
        ids = {message.id: new_message_id() for message in tree}
        with self._writing():
            new = self._create(replace(chat, id=new_chat_id(), title=columns.one_line(chat.title)))
            for message in tree:
                parent = None if message.parent is None else ids[message.parent]
                state = "interrupted" if message.state == "streaming" else message.state
                text = columns.storable(message.text)
                moved = replace(message, id=ids[message.id], parent=parent, state=state, text=text)
                messages.insert(self._db, new.id, moved, None)
            if head is not None:
                self._change("UPDATE chats SET head = ? WHERE id = ?", ids[head], new.id)
        return replace(new, messages=len(tree), deleted=None)

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
        """Remove a chat for good, with the files that no other chat has; no trace stays in the file."""
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
        """All that is written within, or nothing."""
        with explained(self.path), database.transaction(self._db):
            yield

    def _create(self, chat: ChatInfo) -> ChatInfo:
        self._db.execute(
            "INSERT INTO chats (id, title, folded, created, updated, touched, pinned, model, draft) "
            f"VALUES (?, ?, ?, ?, ?, {_NEXT_TOUCH}, ?, ?, ?)",
            (
                chat.id,
                chat.title,
                folding.fold(chat.title),
                chat.created,
                chat.updated,
                int(chat.pinned),
                columns.storable(chat.model),
                columns.storable(chat.draft),
            ),
        )
        return chat

    def _change(self, statement: str, *values: Any) -> None:
        """Change one row, which must be there."""
        if self._db.execute(statement, values).rowcount != 1:
            raise gone()

    def _set(self, chat_id: str, assignments: str, *values: Any) -> None:
        with self._writing():
            self._change(f"UPDATE chats SET {assignments} WHERE id = ?", *values, chat_id)

    def _messages(self, chat_id: str) -> list[ChatMessage]:
        with explained(self.path), database.reading(self._db):
            return messages.of_chat(self._db, chat_id)

    def _writer_of(self, state: MessageState) -> str | None:
        return self._lease.hold() if state == "streaming" else None

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
        with self._writing():
            removed = self._db.execute(f"DELETE FROM chats WHERE {which}", (value,)).rowcount
            if removed:
                messages.forget_contents(self._db)
        if removed:
            with explained(self.path):
                database.settle(self._db)
        return removed
