"""What was said so far, as the model is told it."""

from __future__ import annotations

from app.template import Message


class Conversation:
    """Turns that stand, and at most one that is under way.

    Attributes:
        messages: the turns that stand, oldest first.
        question: the user's turn that has no answer yet, or None.
    """

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.question: str | None = None

    def ask(self, question: str) -> None:
        """Begin a turn."""
        self.question = question

    def request(self) -> list[Message]:
        """The messages that ask for the answer under way."""
        assert self.question is not None
        return [*self.messages, Message("user", self.question)]

    def settle(self, answer: str) -> None:
        """End the turn with what the model said, complete or not."""
        self.messages = [*self.request(), Message("assistant", answer)]
        self.question = None

    def withdraw(self) -> str:
        """Give the question back, as if it had not been asked."""
        assert self.question is not None
        question, self.question = self.question, None
        return question
