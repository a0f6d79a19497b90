"""Looking for what answers copied, on a thread of its own: long files take a while."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace

from app.chats.records import ChatMessage
from app.files.provenance import copied
from app.files.records import Attachment, Span


class CopySearch:
    """Answers go in, and come out with their spans."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="copies")
        self._looking: list[tuple[ChatMessage, Future[tuple[Span, ...]]]] = []

    def look(self, answer: ChatMessage, files: Sequence[Attachment]) -> None:
        """Look for what an answer copied from these files."""
        if answer.text and files:
            self._looking.append((answer, self._thread.submit(copied, answer.text, tuple(files))))

    def found(self, patience: float = 0.0) -> list[ChatMessage]:
        """Answers for which all is known that was not at the last call; waits for `patience` seconds."""
        if not self._looking:
            return []
        wait([looking for _, looking in self._looking], patience)
        done = [(answer, looking.result()) for answer, looking in self._looking if looking.done()]
        self._looking = [one for one in self._looking if not one[1].done()]
        return [replace(answer, spans=spans) for answer, spans in done]

    def close(self) -> None:
        """Look for nothing more."""
        self._thread.shutdown(wait=False, cancel_futures=True)
