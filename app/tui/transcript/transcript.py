"""The transcript: questions, answers and notices. It follows its end while the reader is there.

One widget draws everything, and only what the view shows, or is near it, is laid out: a long chat opens
as fast as a short one. What the reader looks at stays where it is, whatever happens above or below.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from textual.events import Click
from textual.message import Message

from app.chats.records import Attachment, ChatMessage
from app.thinking import Markers
from app.tui.transcript.answer import Answer
from app.tui.transcript.entries import Entries
from app.tui.transcript.entry import Entry, Notice, Question, Welcome

__all__ = ["Answer", "Notice", "Question", "Transcript"]

UNMARKED = Markers()  # but for what most models write

Said: TypeAlias = Question | Answer


class Transcript(Entries):
    """Holds the chat. The prompt keeps the keyboard.

    Attributes:
        current: the message that the person stepped to or clicked, or None.
    """

    DEFAULT_CSS = """
    Transcript { height: 1fr; }
    """

    @dataclass
    class Step(Message):
        """The person wants another sibling of a message: the one before (-1), or after (1)."""

        message_id: int
        delta: int

    current: Said | None

    def __init__(self) -> None:
        super().__init__()
        self.insert(Welcome())

    @property
    def messages(self) -> list[Said]:
        """Questions and answers, from the first to the last."""
        return [entry for entry in self.entries if isinstance(entry, Question | Answer)]

    @property
    def answers(self) -> list[Answer]:
        """The answers, from the first to the last."""
        return [entry for entry in self.entries if isinstance(entry, Answer)]

    def open(
        self,
        path: Sequence[ChatMessage],
        branches: Mapping[int, tuple[int, int]] = {},
        *,
        markers: Markers = UNMARKED,
        show_origins: bool = False,
    ) -> None:
        """Show another chat, or another branch of this one, at its end.

        Args:
            path: from the first message to the last that shows. What shows already stays as it is.
            branches: by message, which of how many siblings it is, from 1.
            markers: around the thinking in the answers.
            show_origins: as in `show_origins`.
        """
        known = {entry.message_id: entry for entry in self.messages if entry.message_id is not None}
        entries: list[Entry] = []
        for message in path:
            entry = known.get(message.id) or _entry(message, markers, show_origins)
            entry.branch = branches.get(message.id)
            entries.append(entry)
        self.fill(entries or [Welcome()])

    def ask(
        self,
        question: str,
        files: tuple[Attachment, ...] = (),
        *,
        show_origins: bool = False,
        show_thought: bool = False,
    ) -> Answer:
        """Add a question with its files and an empty answer, and go to the end."""
        if self.entries and isinstance(self.entries[0], Welcome):
            self.take_out(self.entries[0])
        self.insert(Question(question, files))
        return self.begin(show_origins=show_origins, show_thought=show_thought)

    def begin(self, *, show_origins: bool = False, show_thought: bool = False) -> Answer:
        """Add an empty answer to what was said last, and go to the end."""
        answer = Answer(show_origins=show_origins, show_thought=show_thought)
        self.insert(answer)
        self.to_end()
        return answer

    def notify_reader(self, notice: Notice, before: Answer | None = None) -> None:
        """Add a notice at the end, or before an answer."""
        self.insert(notice, before)

    def show_origins(self, shown: bool) -> None:
        """Show or hide token origins everywhere."""
        with self.steady():
            for answer in self.answers:
                answer.show_origins = shown

    def show_thoughts(self, shown: bool) -> None:
        """Unfold or fold the thinking everywhere."""
        with self.steady():
            for answer in self.answers:
                answer.show_thought = shown

    def step(self, delta: int) -> None:
        """Make the message before (-1) or after (1) the current one current; after the last, none.

        Without a current one it begins at the last.
        """
        messages = self.messages
        at = messages.index(self.current) if self.current is not None else len(messages)
        at = max(at + delta, 0)
        self.choose(messages[at] if at < len(messages) else None)

    def choose(self, message: Said | None) -> None:
        """Make a message current, and show its beginning; or none, and go to the end."""
        self.mark(message)
        if message is None:
            self.to_end()
        else:
            self.bring(message)

    def on_click(self, event: Click) -> None:
        """Do what the text under the pointer stands for, or make its message current."""
        act, entry = event.style.meta.get("act"), self._window.under(event.y)
        if act == "end":
            self.to_end()
        elif act == "thought" and isinstance(entry, Answer):
            entry.show_thought = not entry.show_thought
        elif act in ("previous", "next") and entry is not None and entry.message_id is not None:
            self.post_message(self.Step(entry.message_id, -1 if act == "previous" else 1))
        elif isinstance(entry, Question | Answer):
            self.mark(entry)


def _entry(message: ChatMessage, markers: Markers, show_origins: bool) -> Said:
    if message.role == "assistant":
        return Answer.kept(message, markers, show_origins=show_origins)
    question = Question(message.text, message.attachments)
    question.message_id = message.id
    return question
