"""What a person does with the open chat, whatever the screen: ask, stop, answer anew, edit, go back.

The front end hands it the engine's events and shows what the conversation is then.
"""

from __future__ import annotations

from dataclasses import replace

from app.chats.conversation import GOES_ON, Conversation
from app.chats.records import ChatInfo
from app.desk.answering import STATES, Answering, Question, conversation_of
from app.desk.shelf import Shelf
from app.files.tray import Tray, remarks
from app.thread.events import Failed, Finished
from app.thread.worker import Worker
from mlx_spec.errors import SpecError


class Desk(Answering):
    """The open chat, and what a person may do there.

    Attributes:
        tray: files for the next question.
        waiting: questions that are asked when the answers before them have ended, in order.
        editing: id of the question that is asked anew next, or None; it is gone where the question is.
    """

    def __init__(self, worker: Worker, shelf: Shelf) -> None:
        super().__init__(worker, shelf)
        self.tray = Tray()
        self.waiting: list[Question] = []
        self._editing: int | None = None

    @property
    def editing(self) -> int | None:
        return self._editing if self._editing in self.conversation else None

    @editing.setter
    def editing(self, question_id: int | None) -> None:
        self._editing = question_id

    # Asking

    def ask(self, text: str) -> str:
        """Ask, or put the question at the end of those that wait; or ask the one that is edited anew.

        Returns:
            What there is to say about it, such as a file that it names and that is not there.

        Raises:
            SpecError: there is no model, or a file that the text names cannot be attached; or an answer is
                under way and a question is edited.
        """
        self._need_model()
        if self.editing is None:
            files = self.tray.take(text)
            self.waiting.append(Question(text, files))
            self._next()
        else:
            self._need_quiet()
            files = self.tray.take(text)
            self.shelf.add(self.conversation.edit(self.editing, text, files))
            self.editing = None
            self._begin()
        return remarks(text, files, self.reports.context_limit)

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

    def visit(self, message_id: int) -> None:
        """Go to where a message is in sight.

        Raises:
            SpecError: an answer is under way.
        """
        self._need_quiet()
        self.conversation.visit(message_id)
        self.shelf.stand(self.conversation.head)

    def switch(self, model: str, draft: str) -> str:
        """Load another pair in the place of this one; the chat stays. Returns what happens.

        Raises:
            SpecError: an answer is under way.
        """
        self._need_quiet()
        self.worker.switch(replace(self.worker.settings, model=model, draft=draft))
        return f"Loading {model}, draft {draft}. The chat stays."

    def let_go(self) -> None:
        """Close the worker, so that its memory is free.

        Raises:
            SpecError: an answer is under way.
        """
        self._need_quiet()
        self.worker.close()
        self.loaded = False

    def employ(self) -> None:
        """Load again what the worker that was let go had."""
        self.worker = self.worker.successor()
        self.worker.start()

    # Chats

    def new(self) -> None:
        """Begin another chat; this one is kept.

        Raises:
            SpecError: an answer is under way.
        """
        self._need_quiet()
        self.shelf.chat = None
        self._turn_to(conversation_of())

    def open(self, chat: ChatInfo) -> None:
        """Go to a kept chat, to where the person was in it.

        Raises:
            SpecError: an answer is under way, or the chat cannot be read.
        """
        self._need_quiet()
        self._turn_to(conversation_of(*self.shelf.open(chat)))

    def delete(self) -> str:
        """Delete the open chat and begin another; returns its title.

        Raises:
            SpecError: an answer is under way, or nothing was said yet.
        """
        self._need_quiet()
        title = self.shelf.delete()
        self._turn_to(conversation_of())
        return title

    # Events of the engine

    def finish(self, event: Finished) -> Question | None:
        """The answer ended. One that says nothing since it was stopped is gone; its question is returned."""
        answer = self.conversation.under_way
        if answer is None:
            return None
        back = None
        if event.reason == "interrupt" and not answer.text:
            back = self._withdraw()
        else:
            self._settle(STATES.get(event.reason, "done"), event.reason, event.facts)
        self._next()
        return back

    def fail(self, event: Failed) -> list[Question]:
        """The answer failed, or the model. What nobody answered is returned, in order."""
        if event.loading:
            self.failure = event
        answer = self.conversation.under_way
        if answer is None:
            return []
        back: list[Question | None] = []
        if answer.text:
            self._settle("failed", "error", {})
        else:
            back.append(self._withdraw())
        back += self.waiting
        self.waiting = []
        return list(filter(None, back))

    # Inside

    def _turn_to(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.editing = None
        self.reports.forget()

    def _next(self) -> None:
        if self.waiting and not self.busy:
            question = self.waiting.pop(0)
            settings = self.worker.settings
            self.shelf.begin(question.text, settings.model, settings.draft)
            self.shelf.add(self.conversation.ask(question.text, question.files))
            self._begin()

    def _need_model(self) -> None:
        if self.failure is not None:
            raise SpecError("There is no model to answer.", "/model REF loads one, /quit leaves.")

    def _need_quiet(self) -> None:
        if self.busy:
            raise SpecError("An answer is running.", "Esc stops it.")

    def _need_rest(self) -> None:
        self._need_model()
        self._need_quiet()
