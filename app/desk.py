"""What a person does with the open chat, whatever the screen: ask, stop, answer anew, edit, go back.

It holds the conversation, the questions that wait their turn, and the worker that answers. The front end
hands it the engine's events and shows what the conversation is then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.chats.conversation import GOES_ON, Conversation
from app.chats.records import Attachment, ChatInfo, ChatMessage, MessageState
from app.chats.store import new_message_id
from app.events import Emitted, Event, Failed, Finished, Ready
from app.files.prompt import prompt_of
from app.files.search import CopySearch
from app.files.tray import Tray
from app.reports import Reports
from app.shelf import Shelf
from app.template import Message
from app.worker import Worker
from mlx_spec.errors import SpecError

LAST_COPIES = 2.0  # seconds that the end waits for what the last answer copied
STATES: dict[str, MessageState] = {"interrupt": "stopped", "length": "cut", "error": "failed"}


@dataclass(frozen=True)
class Question:
    """What a person wrote, and the files that go with it."""

    text: str
    files: tuple[Attachment, ...] = ()


def _conversation(messages: Sequence[ChatMessage] = (), head: int | None = None) -> Conversation:
    return Conversation(messages, head, ids=iter(new_message_id, None))


class Desk:
    """The open chat and who answers it.

    Attributes:
        worker: that answers.
        shelf: where it is kept.
        conversation: what was said.
        tray: files for the next question.
        waiting: questions that are asked when the answers before them have ended, in order.
        context_full: what to do when the context is full: stop or drop.
        loaded: there is a model that answers.
        failure: why there is none, or None.
        reports: what the engine told.
    """

    def __init__(self, worker: Worker, shelf: Shelf) -> None:
        self.worker = worker
        self.shelf = shelf
        self.conversation = _conversation()
        self.tray = Tray()
        self.waiting: list[Question] = []
        self.context_full = "stop"
        self.loaded = False
        self.failure: Failed | None = None
        self.reports = Reports()
        self._copies = CopySearch()
        self._requested = False

    # Asking

    @property
    def busy(self) -> bool:
        """An answer is under way, or waits for the model."""
        return self.conversation.under_way is not None

    def ask(self, text: str) -> None:
        """Ask, or put the question at the end of those that wait.

        Raises:
            SpecError: there is no model, or a file that the text names cannot be attached.
        """
        self._need_model()
        self.waiting.append(Question(text, self.tray.take(text)))
        self._next()

    def take_back(self) -> Question | None:
        """The latest of the questions that wait waits no longer; None if none did."""
        return self.waiting.pop() if self.waiting else None

    def stop(self) -> Question | None:
        """End the answer under way; what it says stays. Without a model yet, its question is returned."""
        if self.busy and not self.loaded:
            return self._withdraw()
        self.worker.stop()
        return None

    def regenerate(self) -> None:
        """Another answer to the last question.

        Raises:
            SpecError: there is no question, no model, or an answer is under way.
        """
        self._need_rest()
        if self.conversation.last("user") is None:
            raise SpecError("There is no question to answer again.", "Ask one first.")
        self._begin()

    def edit(self, question_id: int, text: str) -> None:
        """Ask a question of the chat in other words, as a branch of it.

        Raises:
            SpecError: there is no model, or an answer is under way.
        """
        self._need_rest()
        self.shelf.add(self.conversation.edit(question_id, text))
        self._begin()

    def go_on(self) -> None:
        """Let the last answer go on where it ended.

        Raises:
            SpecError: it is complete, there is none, there is no model, or an answer is under way.
        """
        self._need_rest()
        last = self.conversation.path[-1:]
        if not last:
            raise SpecError("There is no answer to continue.", "Ask something first.")
        if last[0].role == "assistant" and last[0].state not in GOES_ON:
            raise SpecError(
                "The answer is complete: its model ended it.", "Ask for more, or /regenerate for another."
            )
        if last[0].text and last[0].role == "assistant":
            self.shelf.progress(self.conversation.go_on())
            self.reports.expect((last[0].stats or {}).get("tokens", ()))
            self._request()
        else:
            self._begin()

    # Moving

    def undo(self) -> Question:
        """Take the last question and its answer back; `redo` brings them again.

        Raises:
            SpecError: there is no question, or an answer is under way.
        """
        self._need_quiet()
        question = self.conversation.undo()
        if question is None:
            raise SpecError("There is nothing to undo.", "Ask something first.")
        self.shelf.stand(self.conversation.head)
        return Question(question.text, question.attachments)

    def redo(self) -> None:
        """Bring back what `undo` took.

        Raises:
            SpecError: nothing was undone, or an answer is under way.
        """
        self._need_quiet()
        if not self.conversation.redo():
            raise SpecError("There is nothing to redo.", "It brings back what /undo took last.")
        self.shelf.stand(self.conversation.head)

    def step(self, message_id: int, delta: int) -> None:
        """Go from a message to the branch before or after it.

        Raises:
            SpecError: there is none, or an answer is under way.
        """
        self._need_quiet()
        if not self.conversation.step(message_id, delta):
            way = "after" if delta > 0 else "before"
            raise SpecError(f"There is no branch {way} this one.", "")
        self.shelf.stand(self.conversation.head)

    def switch(self, model: str, draft: str) -> str:
        """Load another pair in the place of this one; the chat stays. Returns what happens.

        Raises:
            SpecError: an answer is under way.
        """
        self._need_quiet()
        self.worker.switch(replace(self.worker.settings, model=model, draft=draft))
        return f"Loading {model}, draft {draft}. The chat stays."

    # Chats

    def new(self) -> None:
        """Begin another chat; this one is kept.

        Raises:
            SpecError: an answer is under way.
        """
        self._need_quiet()
        self.shelf.chat = None
        self.conversation = _conversation()

    def open(self, chat: ChatInfo) -> None:
        """Go to a kept chat, to where the person was in it.

        Raises:
            SpecError: an answer is under way, or the chat cannot be read.
        """
        self._need_quiet()
        self.conversation = _conversation(*self.shelf.open(chat))

    def delete(self) -> str:
        """Delete the open chat and begin another; returns its title.

        Raises:
            SpecError: an answer is under way, or nothing was said yet.
        """
        self._need_quiet()
        title = self.shelf.delete()
        self.conversation = _conversation()
        return title

    # Events of the engine

    def be_ready(self, event: Ready) -> None:
        """A model is there: what waits for it is asked."""
        if not self.loaded:  # later on, the person may have chosen
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

    def finish(self, event: Finished) -> Question | None:
        """The answer ended. One that says nothing since it was stopped is gone; its question is returned."""
        answer = self.conversation.under_way
        if answer is None:
            return None
        back = None
        if event.reason == "interrupt" and not answer.text:
            back = self._withdraw()
        else:
            self._settle(STATES.get(event.reason, "done"), event.reason)
        self._next()
        return back

    def copies(self, patience: float = 0.0) -> list[ChatMessage]:
        """Answers of which it is known by now what they copied from files; see `CopySearch.found`."""
        found = self._copies.found(patience)
        for answer in found:
            if answer.spans and self.conversation.annotate(answer):
                self.shelf.settle(answer)
        return found

    def fail(self, event: Failed) -> list[Question]:
        """The answer failed, or the model. What nobody answered is returned, in order."""
        if event.loading:
            self.failure = event
        answer = self.conversation.under_way
        if answer is None:
            return []
        back: list[Question | None] = []
        if answer.text:
            self._settle("failed", "error")
        else:
            back.append(self._withdraw())
        back += self.waiting
        self.waiting = []
        return list(filter(None, back))

    def wind_up(self, events: Sequence[Event]) -> None:
        """The engine has said its last: keep what it did, and how the answer under way ended."""
        self.waiting = []
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

    def _next(self) -> None:
        if self.waiting and not self.busy:
            question = self.waiting.pop(0)
            settings = self.worker.settings
            self.shelf.begin(question.text, settings.model, settings.draft)
            self.shelf.add(self.conversation.ask(question.text, question.files))
            self._begin()

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

    def _need_model(self) -> None:
        if self.failure is not None:
            raise SpecError("There is no model to answer.", "/model REF loads one, /quit leaves.")

    def _need_quiet(self) -> None:
        if self.busy:
            raise SpecError("An answer is running.", "Esc stops it.")

    def _need_rest(self) -> None:
        self._need_model()
        self._need_quiet()
