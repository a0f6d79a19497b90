"""A conversation and who answers it: what is asked of the engine, heard, ended and kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.assistant.template import Message
from app.chats.conversation import Conversation
from app.chats.records import Attachment, ChatMessage, MessageState
from app.chats.store import new_message_id
from app.desk.shelf import Shelf
from app.files.prompt import prompt_of
from app.files.search import CopySearch
from app.speculation.reports import Reports
from app.thread.events import Emitted, Event, Failed, Finished, Ready
from app.thread.worker import Worker

LAST_COPIES = 2.0  # seconds that the end waits for what the last answer copied
STATES: dict[str, MessageState] = {"interrupt": "stopped", "length": "cut", "error": "failed"}


@dataclass(frozen=True)
class Question:
    """What a person wrote, and the files that go with it."""

    text: str
    files: tuple[Attachment, ...] = ()


class Answering:
    """At most one answer is under way; everything that happens to it is kept.

    Attributes:
        worker: that answers.
        shelf: where the chat is kept.
        conversation: what was said.
        context_full: what to do when the context is full: stop or drop.
        loaded: there is a model that answers.
        failure: why there is none, or None.
        reports: what the engine told.
    """

    def __init__(self, worker: Worker, shelf: Shelf) -> None:
        self.worker = worker
        self.shelf = shelf
        self.conversation = conversation_of()
        self.context_full = "stop"
        self.loaded = False
        self.failure: Failed | None = None
        self.reports = Reports()
        self._copies = CopySearch()
        self._requested = False

    @property
    def busy(self) -> bool:
        """An answer is under way, or waits for the model."""
        return self.conversation.under_way is not None

    # Events of the engine

    def be_ready(self, event: Ready) -> None:
        """A model is there: what waits for it is asked."""
        if self.reports.context_limit is None:  # later on, the person may have chosen
            self.context_full = event.context_full
        self.loaded = True
        self.failure = None
        self.reports.take(event)
        if self.busy and not self._requested:
            self._request()

    def hear(self, rounds: Sequence[Emitted]) -> None:
        """The answer gets longer."""
        answer = self.conversation.under_way
        if answer is None or not rounds:
            return
        self.conversation.say(self.reports.hear(rounds, first=not answer.text))
        self.shelf.progress(self.conversation.message(answer.id))

    def copies(self, patience: float = 0.0) -> list[ChatMessage]:
        """Answers of which it is known by now what they copied from files; see `CopySearch.found`."""
        found = self._copies.found(patience)
        for answer in found:
            if answer.spans and self.conversation.annotate(answer):
                self.shelf.settle(answer)
        return found

    def wind_up(self, events: Sequence[Event]) -> None:
        """The engine has said its last: keep what it did, and how the answer under way ended."""
        self.hear([event for event in events if isinstance(event, Emitted)])
        if self.busy:
            ends = [event.reason for event in events if isinstance(event, Finished)]
            reason = ends[-1] if ends else "interrupt"
            answer = self.conversation.under_way
            # A question without an answer is not taken back: nobody is there to have it.
            state = STATES.get(reason, "done") if answer and answer.text else "interrupted"
            self._settle(state, reason)
        self.copies(LAST_COPIES)
        self._copies.close()

    # Inside

    def _begin(self) -> None:
        self.shelf.add(self.conversation.answer())
        self.reports.expect()
        self._requested = False
        if self.loaded:
            self._request()

    def _request(self) -> None:
        self._requested = True
        self.worker.answer(self.request(), self.context_full)

    def request(self) -> list[Message]:
        """The messages that ask for the answer under way; the last is what it says so far, if anything."""
        messages = [
            Message(message.role, prompt_of(message.text, message.attachments))
            for message in self.conversation.path
            if message.text
        ]
        return [*messages[:-1], replace(messages[-1], tokens=tuple(self.reports.tokens))]

    def _settle(self, state: MessageState, reason: str) -> ChatMessage:
        answer = replace(self.conversation.settle(state), stats=self.reports.stats(state, reason))
        self.conversation.annotate(answer)
        self.shelf.settle(answer)
        self._copies.look(answer, self.conversation.files())
        settings = self.worker.settings
        self.shelf.answered_by(settings.model, settings.draft)
        return answer

    def _withdraw(self) -> Question | None:
        gone = self.conversation.withdraw()
        if len(self.conversation):
            self.shelf.withdraw(gone, self.conversation.head)
        else:
            self.shelf.forget()
        question = gone[-1]
        return Question(question.text, question.attachments) if question.role == "user" else None


def conversation_of(messages: Sequence[ChatMessage] = (), head: int | None = None) -> Conversation:
    """A conversation whose messages get the store's ids."""
    return Conversation(messages, head, ids=iter(new_message_id, None))
