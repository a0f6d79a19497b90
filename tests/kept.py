"""What tests of kept chats put into them, and the clock they go by."""

from __future__ import annotations

from app.chats.recorder import Recorder
from app.chats.records import ChatMessage
from app.chats.store import new_message_id
from app.files.records import Attachment


class Clock:
    """A wall clock that tests set."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


def file(text: str, path: str = "/notes.txt", sha256: str = "ab" * 32) -> Attachment:
    return Attachment(path, sha256, len(text.encode()), "utf-8", text)


def begin(recorder: Recorder, title: str = "A chat") -> tuple[str, ChatMessage, ChatMessage]:
    """A chat whose answer is under way: its id, the question and the answer."""
    chat = recorder.create(title, "builtin", "lookup")
    question = ChatMessage(new_message_id(), None, "user", "Why?", created=1.0)
    answer = ChatMessage(new_message_id(), question.id, "assistant", "", "streaming", created=2.0)
    recorder.add(chat.id, question)
    recorder.add(chat.id, answer)
    return chat.id, question, answer
