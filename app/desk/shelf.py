"""The kept chats and the open one among them: a thread writes that nobody waits for."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from app.chats.columns import one_line
from app.chats.errors import NoSuchChat, StoreError
from app.chats.recorder import Recorder
from app.chats.records import ChatInfo, ChatMessage
from app.chats.search import Hit
from app.chats.store import Store
from app.files.names import path_of

TITLE = 60  # characters
PATIENCE = 0.5  # seconds that the screen waits for another process


class Shelf:
    """Belongs to the thread that made it. What cannot be written stays in memory, and `news` says so.

    Attributes:
        path: of the store.
        chat: the open chat; None until something is said in it.
        news: sentences for the person, the oldest first.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.chat: ChatInfo | None = None
        self.news: deque[str] = deque()
        self._recorder = Recorder(path, self.news.append)
        self._store: Store | None = None

    # The open chat

    def begin(self, question: str, model: str, draft: str) -> None:
        """A chat begins with this question, unless one is open.

        Args:
            question: its first line becomes the title.
            model, draft: as options name them.
        """
        if self.chat is None:
            self.chat = self._recorder.create(title_of(question), model, draft)

    def add(self, message: ChatMessage) -> None:
        """Keep a new message of the open chat, which comes back if it was deleted elsewhere meanwhile."""
        assert self.chat is not None
        self._recorder.add(self.chat.id, message)
        self._change(Store.restore)

    def progress(self, answer: ChatMessage) -> None:
        """Keep an answer as far as it is."""
        self._recorder.progress(answer.id, answer.text, answer.pieces)

    def settle(self, answer: ChatMessage) -> None:
        """Keep an answer as it ended, or as it is known now."""
        self._recorder.settle(
            answer.id,
            text=answer.text,
            pieces=answer.pieces,
            state=answer.state,
            spans=answer.spans,
            stats=answer.stats,
        )

    def answered_by(self, model: str, draft: str) -> None:
        """Keep who answered last, as options name them."""
        self._change(Store.answered_by, model, draft)

    def withdraw(self, messages: Sequence[ChatMessage], head: int | None) -> None:
        """Remove messages that nothing follows, the last first.

        Args:
            messages: that go.
            head: where the person is then.
        """
        self.stand(head)
        for message in messages:
            self._recorder.withdraw(message.id)

    def forget(self) -> None:
        """The open chat is as if it had never been; a question may begin another."""
        self._change(Store.purge)
        self.chat = None

    def stand(self, head: int | None) -> None:
        """Keep where in the open chat the person is."""
        if self.chat is not None:
            self._change(Store.set_head, head)

    def rename(self, title: str) -> None:
        """Give the open chat a title.

        Raises:
            NoSuchChat: it was removed for good elsewhere.
        """
        if not self._recorder.troubled and self._recorder.flush():
            self.info(self.open_id())
        self._change(Store.rename, title)

    def pin(self) -> bool:
        """Keep the open chat on top of the list, or no longer; returns which."""
        pinned = not self.info(self.open_id()).pinned
        self._change(Store.pin, pinned)
        return pinned

    def delete(self) -> str:
        """Take the open chat out of the list; returns its title."""
        title = self.info(self.open_id()).title
        self._change(Store.delete)
        self.chat = None
        return title

    def undelete(self, chat_id: str) -> ChatInfo:
        """Bring a deleted chat back, the latest if none is named.

        Raises:
            NoSuchChat: there is none.
        """
        if chat_id:
            chat = self.info(chat_id)
        else:
            gone = sorted(self.reading.chats(deleted=True), key=lambda chat: chat.deleted or 0)
            if not gone:
                raise NoSuchChat("No chat is deleted.", "/chats lists those that there are.")
            chat = gone[-1]
        self.reading.restore(chat.id)
        return chat

    @property
    def deleted(self) -> bool:
        """The open chat was deleted."""
        return self.chat is not None and self.info(self.chat.id).deleted is not None

    # All chats

    @property
    def reading(self) -> Store:
        """The store as it is after everything that was to be written so far, unless the disk fails.

        Raises:
            StoreError: it cannot be opened.
        """
        if not self._recorder.troubled:  # the screen stands still meanwhile
            self._recorder.flush()
        if self._store is not None and (self._store.frozen or not self._store.in_place):
            self._store.close()
            self._store = None
        if self._store is None:
            self._store = Store.open(self.path, patience=PATIENCE)
        return self._store

    def info(self, chat_id: str) -> ChatInfo:
        """A chat by its id, or a beginning of it.

        Raises:
            StoreError: there is no such chat, or no store.
        """
        return self.reading.info(chat_id)

    def latest(self) -> ChatInfo:
        """The chat in which something happened last.

        Raises:
            StoreError: there is none, or no store.
        """
        chat = self.reading.latest()
        if chat is None:
            raise NoSuchChat("There is no chat to continue.", "Start one: specchat.")
        return chat

    def open(self, chat: ChatInfo) -> tuple[list[ChatMessage], int | None]:
        """Its messages and where the person was in it; it is the open one now."""
        messages, head = self.reading.messages(chat.id), self.reading.head(chat.id)
        self.chat = chat
        return messages, head

    def search(self, text: str) -> list[Hit]:
        """Where a text stands."""
        return self.reading.search(text)

    def backup(self, path: str) -> Path:
        """Write all chats to a new file; returns where it is.

        Raises:
            StoreError: it is there already, or cannot be written.
        """
        target = path_of(path, Path.cwd())
        self.reading.backup(target)
        return target

    def questions(self) -> list[str]:
        """The latest questions of all chats, the latest last; none where they cannot be read."""
        try:
            return self.reading.questions()
        except StoreError:  # the recorder says so
            return []

    def close(self) -> str | None:
        """Write what is left; a sentence if that was not possible."""
        if self._store is not None:
            self._store.close()
            self._store = None
        return self._recorder.close()

    def open_id(self) -> str:
        """The id of the open chat.

        Raises:
            NoSuchChat: nothing was said in it yet.
        """
        if self.chat is None:
            raise NoSuchChat("This chat is empty.", "Ask something first.")
        return self.chat.id

    def _change(self, verb: Callable[..., Any], *values: Any) -> None:
        self._recorder.run(verb, self.open_id(), *values)


def title_of(question: str) -> str:
    """The title of a chat that begins with a question: its first line that says something, cut."""
    line = next((line for line in question.splitlines() if line.strip()), "")
    title = one_line(line, TITLE + 1)
    return title if len(title) <= TITLE else f"{title[:TITLE].rstrip()}…"
