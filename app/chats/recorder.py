"""Writes chats down while they happen, on a thread of its own: whoever talks never waits for a disk.

What cannot be written now stays in order in memory and is tried again; the person is told once, and once
more when all of it is on disk. What can never be written, since its chat is no longer there, is told at each
question and at the end.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from app.chats.columns import one_line
from app.chats.errors import NoSuchChat, StoreError, StoreUnavailable
from app.chats.records import ChatInfo, ChatMessage, MessageState
from app.chats.store import Store, new_chat_id
from app.errors import sentence
from app.files.records import Span

INTERVAL = 0.5  # seconds between two writes of an answer that streams
RETRY = 5.0  # seconds until what failed is tried again
MOVED = (
    "was moved or deleted while specchat was using it: what was said so far is not kept there. "
    "Copy what you need."
)
GONE = (
    "The chat is no longer in the store: what is said in it is kept in memory alone. "
    "Copy what you need, or begin another chat."
)

Job = Callable[[Store], object]


class Recorder:
    """One writer. All methods but `flush` and `close` return at once, and none of them fails."""

    def __init__(
        self,
        path: Path,
        say: Callable[[str], None],
        *,
        open: Callable[[Path], Store] = Store.open,
        interval: float = INTERVAL,
        retry: float = RETRY,
    ) -> None:
        """Args:
        path: of the store.
        say: takes a sentence for the person; called on the recorder's thread.
        open: opens the store; on that thread too.
        interval, retry: seconds, as above.
        """
        self._path = path
        self._say = say
        self._open = open
        self._interval = interval
        self._retry = retry
        self._jobs: deque[Job] = deque()
        self._answers: dict[int, Job] = {}  # by message; only the latest state of each is worth writing
        self._due = 0.0
        self._closing = False
        self._changed = threading.Condition()
        self._store: Store | None = None
        self._trouble = ""
        self._refused: set[str] = set()
        self._lost = ""
        self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)
        self._thread.start()

    def create(self, title: str = "", model: str = "", draft: str = "") -> ChatInfo:
        """As `Store.create`."""
        now = time.time()
        chat = ChatInfo(new_chat_id(), one_line(title), now, now, model=model, draft=draft)
        self.run(partial(Store.create, title=title, model=model, draft=draft, chat_id=chat.id))
        return chat

    def add(self, chat_id: str, message: ChatMessage) -> None:
        """A new message; its id is from `new_message_id`. An answer begins as "streaming"."""
        if message.role == "user":
            self._refused.discard(GONE)  # whoever goes on is told again
        self.run(
            partial(
                Store.add,
                chat_id=chat_id,
                parent=message.parent,
                role=message.role,
                text=message.text,
                state=message.state,
                attachments=message.attachments,
                message_id=message.id,
                created=message.created,
            )
        )

    def progress(self, message_id: int, text: str, pieces: Sequence[tuple[str, str]]) -> None:
        """An answer so far; of several within the interval the last one is written."""
        job = partial(Store.update, message_id=message_id, text=text, pieces=tuple(pieces), state="streaming")
        with self._changed:
            self._answers[message_id] = job
            self._changed.notify_all()

    def settle(
        self,
        message_id: int,
        *,
        text: str,
        pieces: Sequence[tuple[str, str]],
        state: MessageState,
        spans: Sequence[Span] = (),
        stats: dict[str, Any] | None = None,
    ) -> None:
        """An answer as it ended."""
        job = partial(
            Store.update,
            message_id=message_id,
            text=text,
            pieces=tuple(pieces),
            state=state,
            spans=tuple(spans),
            stats=stats,
        )
        with self._changed:
            self._answers.pop(message_id, None)
            self._jobs.append(job)
            self._changed.notify_all()

    def withdraw(self, message_id: int) -> None:
        """As `Store.withdraw`; what an answer said so far and was not written yet goes with it."""
        with self._changed:
            self._answers.pop(message_id, None)
        self.run(Store.withdraw, message_id)

    def run(self, verb: Callable[..., object], *values: Any) -> None:
        """Any other verb of the store, in its turn: `recorder.run(Store.rename, chat.id, "Title")`."""
        with self._changed:
            self._jobs.append(lambda store: verb(store, *values))
            self._changed.notify_all()

    @property
    def troubled(self) -> bool:
        """What could not be written waits in memory for a disk that works."""
        return bool(self._trouble)

    def flush(self, timeout: float = 1.0) -> bool:
        """Wait until everything so far is on disk, for `timeout` seconds at most; whether it is."""
        with self._changed:
            self._due = 0.0
            self._changed.notify_all()
            return self._changed.wait_for(lambda: not self._jobs and not self._answers, timeout)

    def close(self, timeout: float = 5.0) -> str | None:
        """Write what is left and end; returns a sentence if that was not possible in `timeout` seconds."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join(timeout)
        if self._jobs or self._answers:
            return f"The last changes to your chats are lost. {self._trouble}".strip()
        return f"Not all of your chats is kept. {self._lost}" if self._lost else None

    def _run(self) -> None:
        while (job := self._next()) is not None:
            if self._did(job):
                with self._changed:
                    self._jobs.popleft()
                    self._changed.notify_all()
                self._recovered()
            elif self._closing:
                break
            else:
                with self._changed:
                    self._changed.wait_for(lambda: self._closing, self._retry)
        self._look()
        self._shut()

    def _next(self) -> Job | None:
        """Wait for the job that is to be done next, which stays the first until it is done."""
        with self._changed:
            while not self._jobs:
                wait = self._due - time.monotonic() if self._answers else None
                if self._answers and (self._closing or (wait is not None and wait <= 0)):
                    self._jobs.append(self._answers.pop(next(iter(self._answers))))
                    self._due = time.monotonic() + self._interval
                elif self._closing:
                    return None
                else:
                    self._changed.wait(wait)
            return self._jobs[0]

    def _did(self, job: Job) -> bool:
        """Whether the job is dealt with: done, or such that it will never be."""
        self._look()
        try:
            if self._store is None:
                self._store = self._open(self._path)
        except StoreError as error:
            return self._failed(error)
        try:
            job(self._store)
        except StoreUnavailable as error:
            self._shut()
            return self._failed(error)
        except NoSuchChat:
            self._lose(GONE)
        except Exception as error:  # noqa: BLE001  one job must not end the recording of all others
            self._lose(sentence(error))
        return True

    def _look(self) -> None:
        """Let go of a store that is not at its path any more; it is made anew there when it is needed."""
        if self._store is not None and not self._store.in_place:
            self._shut()
            self._lose(f"{self._path} {MOVED}")
            self._refused.add(GONE)  # of the chats that were in it

    def _lose(self, said: str) -> None:
        self._lost = said
        if said not in self._refused:
            self._refused.add(said)
            self._say(said)

    def _failed(self, error: StoreError) -> bool:
        if not self._trouble:
            self._say(f"{sentence(error)} Until then this chat is kept in memory alone.")
        self._trouble = sentence(error)
        return False

    def _recovered(self) -> None:
        if self._trouble and not self._jobs:
            self._trouble = ""
            self._say("Everything is saved again.")

    def _shut(self) -> None:
        if self._store is not None:
            with suppress(StoreError):  # said already, when writing failed
                self._store.close()
            self._store = None
