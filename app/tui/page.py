"""The open chat on the screen: the transcript shows the path of its conversation."""

from __future__ import annotations

from app.chats.conversation import Conversation
from app.tui.answer import Answer
from app.tui.transcript import Transcript


class Page:
    """What the transcript shows of a conversation.

    Attributes:
        answer: the widget of the answer under way, or None.
        origins, thoughts: answers show each token's origin; they show their thinking.
    """

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._shown: list[int] = []  # ids of the messages on the screen
        self.answer: Answer | None = None
        self.origins = False
        self.thoughts = False

    def show(self, conversation: Conversation) -> None:
        """Bring the transcript to where the conversation is."""
        path, before = conversation.path, self._shown
        self._shown = [message.id for message in path]
        news = path[len(before) :]
        if self._shown[: len(before)] == before and [message.role for message in news] == [
            "user",
            "assistant",
        ]:
            self.answer = self._transcript.ask(
                news[0].text, show_origins=self.origins, show_thought=self.thoughts
            )
        elif self._shown != before or (conversation.under_way is not None and self.answer is None):
            self._transcript.open(path, conversation.branches())
            self._transcript.show_origins(self.origins)
            self._transcript.show_thoughts(self.thoughts)
            self.answer = self._transcript.last_answer if conversation.under_way is not None else None

    def end(self, note: str) -> None:
        """The answer under way has ended; `note` says how, unless the model ended it."""
        if self.answer is not None:
            self.answer.finish(note)
            self.answer = None

    def show_origins(self, shown: bool) -> None:
        """Show each token's origin, or Markdown again."""
        self.origins = shown
        self._transcript.show_origins(shown)

    def show_thoughts(self, shown: bool) -> None:
        """Unfold the thinking everywhere, or fold it."""
        self.thoughts = shown
        self._transcript.show_thoughts(shown)
