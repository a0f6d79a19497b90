"""The open chat on the screen: the transcript shows the path of its conversation."""

from __future__ import annotations

from app.chats.conversation import Conversation
from app.chats.records import ChatMessage
from app.tui.transcript.answer import Answer
from app.tui.transcript.transcript import Transcript


class Page:
    """What the transcript shows of a conversation.

    Attributes:
        answer: what is drawn of the answer under way, or None.
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
        under_way = conversation.under_way
        if self._shown == before and (under_way is None or self.answer is not None):
            return
        views = {"show_origins": self.origins, "show_thought": self.thoughts}
        if self._shown[:-2] == before and under_way is not None:
            # The chat goes on at its end, where notices may stand.
            self.answer = self._transcript.ask(path[-2].text, path[-2].attachments, **views)
            question = self._transcript.messages[-2]
            question.message_id, question.branch = path[-2].id, conversation.branches().get(path[-2].id)
        else:
            known = {message.message_id: message for message in self._transcript.answers}
            settled = [message for message in path if message != under_way or message.id in known]
            self._transcript.open(settled, conversation.branches(), show_origins=self.origins)
            self._transcript.show_thoughts(self.thoughts)
            if under_way is None:
                self.answer = None
                return
            self.answer = known.get(under_way.id) or self._transcript.begin(**views)
            self.answer.go_on()
        self.answer.message_id = path[-1].id
        self.answer.branch = conversation.branches().get(path[-1].id)

    def end(self, note: str) -> None:
        """The answer under way has ended; `note` says how, unless the model ended it."""
        if self.answer is not None:
            self.answer.finish(note)
            self.answer = None

    def show_copies(self, message: ChatMessage) -> None:
        """Mark what an answer copied from files, if it shows."""
        for answer in self._transcript.answers:
            if answer.message_id == message.id and message.spans:
                answer.show_spans(message.spans)

    def show_origins(self, shown: bool) -> None:
        """Show each token's origin, or Markdown again."""
        self.origins = shown
        self._transcript.show_origins(shown)

    def show_thoughts(self, shown: bool) -> None:
        """Unfold the thinking everywhere, or fold it."""
        self.thoughts = shown
        self._transcript.show_thoughts(shown)
