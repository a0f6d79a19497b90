"""The chats of a person, in one SQLite file that several specchat processes may use at once.

What is written is there after a crash of the process. Order comes from counters that only grow, never from
the clock. A store belongs to the thread that opened it; open another one for another thread, it is cheap.
"""

from __future__ import annotations

import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.chats import columns, database, folding, messages
from app.chats.errors import StoreError, StoreUnavailable, explained, gone
from app.chats.reader import Reader
from app.chats.records import ChatInfo, ChatMessage, MessageState, Role
from app.files.records import Attachment, Span

KEPT_DAYS = 30  # a deleted chat can be restored for so long
DOUBT_DAYS = 7  # and so much longer after a start has found that to be over: the clock may have jumped
_DAY = 86_400.0  # seconds
_NEXT_TOUCH = "(SELECT coalesce(max(touched), 0) + 1 FROM chats)"
_ALPHABET = "23456789abcdefghjkmnpqrstvwxyz"  # of ids: no two that look alike


def new_chat_id() -> str:
    """An id that no chat has."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(8))


def new_message_id() -> int:
    """An id that no message has; JSON numbers hold it exactly. It says nothing about the order."""
    return secrets.randbits(52) + 1


class Store(Reader):
    """All chats, to be read and written; see the head of this file."""

    def __init__(self, connection: sqlite3.Connection, path: Path, clock: Callable[[], float]) -> None:
        super().__init__(connection, path)
        self._clock = clock

    @classmethod
    def open(
        cls, path: Path, *, clock: Callable[[], float] = time.time, patience: float = database.PATIENCE
    ) -> Store:
        """Open the store, which is made if it is not there. Chats deleted long ago are removed for good.

        Args:
            path: of the file.
            clock: seconds since 1970.
            patience: seconds that a write waits for another process.

        Raises:
            StoreError: it cannot be opened; the sentence says why.
        """
        store = cls(database.connect(path, patience), path, clock)
        try:
            store._lease.sweep()
            with suppress(StoreUnavailable):  # what cannot be written now is removed at another start
                store._expire(clock())
        except BaseException:
            store._db.close()
            raise
        return store

    def close(self) -> None:
        """Close the file. Answers that were being written are interrupted. May be called more than once."""
        self._db.close()
        self._lease.release()

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
        self._set(chat_id, "deleted = max(?, updated), expired = NULL", self._clock())

    def restore(self, chat_id: str) -> None:
        """Take back `delete`."""
        self._set(chat_id, "deleted = NULL, expired = NULL")

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

    def _writer_of(self, state: MessageState) -> str | None:
        return self._lease.hold() if state == "streaming" else None

    def _touch(self, chat_id: str) -> None:
        """Make a chat the latest one."""
        self._change(
            f"UPDATE chats SET updated = ?, touched = {_NEXT_TOUCH} WHERE id = ?", self._clock(), chat_id
        )

    def _expire(self, now: float) -> None:
        """Remove the chats that were deleted long ago, by two looks at the clock that are days apart."""
        old = now - KEPT_DAYS * _DAY
        self._purge("deleted < ? AND expired < ?", old, now - DOUBT_DAYS * _DAY)
        found = "deleted < ? AND (expired IS NULL OR expired > ?)"
        if self._read(f"SELECT 1 FROM chats WHERE {found} LIMIT 1", (old, now)):
            with self._writing():
                self._db.execute(f"UPDATE chats SET expired = ? WHERE {found}", (now, old, now))

    def _purge(self, which: str, *values: Any) -> bool:
        """Remove chats for good; whether there were any."""
        if not self._read(f"SELECT 1 FROM chats WHERE {which} LIMIT 1", values):
            return False
        with self._writing():
            self._db.execute(f"DELETE FROM chats WHERE {which}", values)
            messages.forget_contents(self._db)
        with explained(self.path):
            database.settle(self._db)
        return True
