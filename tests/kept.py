"""What tests of kept chats put into them, and the clock they go by."""

from __future__ import annotations

from app.chats.records import Attachment


class Clock:
    """A wall clock that tests set."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


def file(text: str, path: str = "/notes.txt", sha256: str = "ab" * 32) -> Attachment:
    return Attachment(path, sha256, len(text.encode()), "utf-8", text)
