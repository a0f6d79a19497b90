"""The open chat as a tree: what was said, and where in it the person is. Pure: no disk, no model, no screen.

The person stands at the `head` and sees the path to it. Nothing is ever changed or taken out but an
answer under way: an edited question and a new answer are siblings of the old ones, and going back only
moves the head. Order is the order of arrival; clocks have no part in it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count

from app.chats.records import ChatMessage, MessageState, Role
from app.files.records import Attachment

Piece = tuple[str, str]
"""An origin and its text."""

GOES_ON: tuple[MessageState, ...] = ("stopped", "cut", "interrupted", "failed")
"""States of an answer that may go on."""


class Conversation:
    """Messages and the path on which the person is.

    Attributes:
        head: id of the path's last message; None at the very start.
    """

    def __init__(
        self,
        messages: Iterable[ChatMessage] = (),
        head: int | None = None,
        *,
        ids: Iterator[int] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Args:
        messages: parents before children, siblings in the order of their arrival.
        head: where the person is.
        ids: of new messages; without them, numbers below zero.
        clock: seconds since 1970.
        """
        self._messages: dict[int, ChatMessage] = {}
        self._children: dict[int | None, list[int]] = {}
        self._last_seen: dict[int | None, int] = {}  # through which child the person went
        self._undone: list[int] = []
        self._before: int | None = None  # the head before what is under way
        self._writing: tuple[int, list[Piece]] | None = None  # the answer under way and what it says
        self._ids = ids or count(-1, -1)
        self._clock = clock
        self.head: int | None = None
        for message in messages:
            self._put(message)
        self._go(head)

    # Looking

    def __len__(self) -> int:
        return len(self._messages)

    def __contains__(self, message_id: object) -> bool:
        return message_id in self._messages

    @property
    def path(self) -> list[ChatMessage]:
        """From the first message to the head."""
        path = []
        at = self.head
        while at is not None:
            path.append(self.message(at))
            at = path[-1].parent
        return path[::-1]

    def message(self, message_id: int) -> ChatMessage:
        """A message, with what it says so far."""
        message = self._messages[message_id]
        if self._writing is None or self._writing[0] != message_id:
            return message
        pieces = tuple(self._writing[1])
        return replace(message, pieces=pieces, text="".join(text for _, text in pieces))

    @property
    def under_way(self) -> ChatMessage | None:
        """The answer that is being made."""
        return self.message(self._writing[0]) if self._writing else None

    def branches(self) -> dict[int, tuple[int, int]]:
        """For each message of the path that has siblings: which of them it is, from 1, and how many."""
        found = {}
        for message in self.path:
            siblings = self._children[message.parent]
            if len(siblings) > 1:
                found[message.id] = (siblings.index(message.id) + 1, len(siblings))
        return found

    def files(self) -> list[Attachment]:
        """The files that the questions of the path brought, each once, in their order."""
        found = {file.sha256 + file.path: file for message in self.path for file in message.attachments}
        return list(found.values())

    def last(self, role: Role) -> ChatMessage | None:
        """The path's latest message of a role."""
        return next((message for message in reversed(self.path) if message.role == role), None)

    # Saying

    def ask(self, text: str, attachments: Sequence[Attachment] = ()) -> ChatMessage:
        """A question below the last answer that says something; unanswered ones become its siblings."""
        parent = self.head
        while parent is not None and (
            self._messages[parent].role == "user" or not self._messages[parent].text
        ):
            parent = self._messages[parent].parent
        self._before = self.head
        return self._new("user", parent, text, tuple(attachments))

    def edit(self, question_id: int, text: str, attachments: Sequence[Attachment] = ()) -> ChatMessage:
        """The question in other words, with the same files and others: a sibling, and the path goes there.

        Args:
            question_id: of the question.
            text: the other words.
            attachments: go with it too; one of the same path takes the place of what it had.
        """
        question = self._messages[question_id]
        self._before = self.head
        files = {file.path: file for file in (*question.attachments, *attachments)}
        return self._new("user", question.parent, text, tuple(files.values()))

    def answer(self) -> ChatMessage:
        """An empty answer to the path's last question is under way: a sibling of those that it has."""
        question = self.last("user")
        assert question is not None
        assert self._writing is None
        if self.head != question.id:
            self._before = self.head
        answer = self._new("assistant", question.id, "", (), "streaming")
        self._writing = (answer.id, [])
        return answer

    def go_on(self) -> ChatMessage:
        """The answer at the head is under way again."""
        assert self.head is not None
        assert self._writing is None
        answer = self._messages[self.head] = replace(self._messages[self.head], state="streaming", spans=())
        self._writing = (answer.id, list(answer.pieces))
        return answer

    def say(self, pieces: Iterable[Piece]) -> None:
        """The answer under way gets longer."""
        assert self._writing is not None
        self._writing[1].extend(pieces)

    def settle(self, state: MessageState) -> ChatMessage:
        """The answer under way ends."""
        answer = self.under_way
        assert answer is not None
        self._writing = None
        self._messages[answer.id] = replace(answer, state=state)
        return self._messages[answer.id]

    def annotate(self, message: ChatMessage) -> bool:
        """Keep what was found out about a settled answer, such as spans; False if it is another by now."""
        now = self._messages.get(message.id)
        if now is not None and (now.text, now.state) != (message.text, message.state):
            return False
        if now is not None:
            self._messages[message.id] = message
        return True

    def withdraw(self) -> list[ChatMessage]:
        """Take back the answer under way, which says nothing, and its question unless that has others.

        The path ends where it did before.

        Returns:
            What is gone, the latest first.
        """
        answer = self.under_way
        assert answer is not None
        assert not answer.text
        self._writing = None
        gone = [self._remove(answer.id)]
        question = self._messages[answer.parent] if answer.parent is not None else None
        assert question is not None
        if not self._children[question.id]:
            gone.append(self._remove(question.id))
        self._go(self._before)
        return gone

    # Moving

    def step(self, message_id: int, delta: int) -> bool:
        """From a message to a sibling, and on to where the person was there; False at the last one."""
        siblings = self._children[self._messages[message_id].parent]
        place = siblings.index(message_id) + delta
        if not 0 <= place < len(siblings):
            return False
        self._undone = []
        self._go(self._leaf(siblings[place]))
        return True

    def visit(self, message_id: int) -> None:
        """To a message, on whatever branch, and on to where the person was below it."""
        self._undone = []
        self._go(self._leaf(message_id))

    def undo(self) -> ChatMessage | None:
        """Back to before the last question, which is returned; None if there is none."""
        question = self.last("user")
        if question is not None and self.head is not None:
            self._undone.append(self.head)
            self.head = question.parent
        return question

    def redo(self) -> bool:
        """Take the last undo back, also one of an earlier time; False if nothing was said from here on."""
        head = self._undone.pop() if self._undone else self._leaf(self.head)
        moved = head != self.head
        self._go(head)
        return moved

    def _go(self, head: int | None) -> None:
        self.head = head
        for message in self.path:
            self._last_seen[message.parent] = message.id

    def _leaf(self, at: int | None) -> int | None:
        while children := self._children.get(at):
            at = self._last_seen.get(at, children[-1])
        return at

    # The tree

    def _new(
        self,
        role: Role,
        parent: int | None,
        text: str,
        attachments: tuple[Attachment, ...],
        state: MessageState = "done",
    ) -> ChatMessage:
        message = ChatMessage(
            next(self._ids),
            parent,
            role,
            text,
            state,
            self._clock(),
            attachments,
        )
        self._put(message)
        self._undone = []
        self._go(message.id)
        return message

    def _put(self, message: ChatMessage) -> None:
        self._messages[message.id] = message
        self._children[message.id] = []
        self._children.setdefault(message.parent, []).append(message.id)

    def _remove(self, message_id: int) -> ChatMessage:
        message = self._messages.pop(message_id)
        del self._children[message_id]
        self._children[message.parent].remove(message_id)
        self._last_seen.pop(message_id, None)
        if self._last_seen.get(message.parent) == message_id:
            del self._last_seen[message.parent]
        return message
