"""A script played at a pace, on the screen or to nobody, with a report of how fast it was.

`bench.studies.screen` starts it as a person starts the program:

python -m tests.performance fill MESSAGES
python -m tests.performance screen|bare REPORT [--rate R] [--model REF --max-tokens N]

`fill` writes a chat of so many messages into the store; the other two answer `prose`, `fence`, `list`
and `short` (typed, or as lines on stdin), in that chat, and add a JSON line to REPORT for each answer.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.assistant.pair import Progress
from app.assistant.template import Message
from app.chats.records import ChatInfo, ChatMessage
from app.chats.store import Store
from app.desk.desk import Desk
from app.desk.offered import first_time
from app.desk.shelf import Shelf
from app.settings.settings import Settings
from app.thread.worker import Worker
from mlx_spec.events import Round
from mlx_spec.metrics import Metrics
from models import locations
from tests.screenplay import STORY, Scripted

SCRIPTS = {
    "prose": "Each paragraph says *something* about the **rounds** of a draft, and goes on.\n\n" * 25,
    "fence": "```python\n" + "".join(f"line_{i} = {i}\n" for i in range(400)) + "```\n",
    "list": "".join(f"{i}. item of the list\n" for i in range(1, 201)),
    "short": "A short answer, as most are: it has a few words, `code`, and an end.",
}


def tokens(text: str) -> list[str]:
    """Words with the space before them."""
    return re.findall(r"\s*\S+|\s+$", text)


@dataclass
class Paced(Scripted):
    """Answers by the question's text, `rate` tokens a second; 0 is as fast as it can."""

    rate: float = 75.0
    metrics: Metrics = field(default_factory=Metrics)

    def answer(self, messages: Sequence[Message], **rest: Any) -> Iterator[Round]:
        self._stopping.clear()
        self.metrics = Metrics()
        words = tokens(SCRIPTS[messages[-1].content.strip()])
        for at, word in enumerate(words):
            if self.rate:
                time.sleep(1 / self.rate)
            self.metrics.record(0, 0, 1, seconds=(at + 1) / (self.rate or 1e3))
            ends = self._stopping.is_set() or at == len(words) - 1
            yield Round([at], ["plain"], [("plain", word)], finish_reason="stop" if ends else None)
            if self._stopping.is_set():
                return


class Timed:
    """An assistant whose answers are timed where they are made, from the first round to the last."""

    def __init__(self, assistant: Any, report: Path) -> None:
        self._assistant = assistant
        self._report = report

    def __getattr__(self, name: str) -> Any:
        return getattr(self._assistant, name)

    def answer(self, messages: Sequence[Message], **rest: Any) -> Iterator[Round]:
        count, first, last = 0, None, 0.0
        for news in self._assistant.answer(messages, **rest):
            last = time.perf_counter()
            if first is None:
                first = last
            else:
                count += len(news.tokens)
            yield news
        with self._report.open("a", encoding="utf-8") as file:
            found = {"prompt": messages[-1].content, "tokens": count, "seconds": last - (first or last)}
            file.write(json.dumps(found) + "\n")


def fill(messages: int) -> None:
    """Write a chat of so many messages."""
    tree = []
    for i in range(1, messages + 1):
        text = f"Question {i}: what is a round?" if i % 2 else STORY + f"\nThe end of {i}."
        pieces = () if i % 2 else tuple(("plain", word) for word in tokens(text))
        role = "user" if i % 2 else "assistant"
        tree.append(ChatMessage(i, i - 1 or None, role, text, created=float(i), pieces=pieces))
    locations.chats_file().parent.mkdir(parents=True, exist_ok=True)
    store = Store.open(locations.chats_file())
    store.take(ChatInfo("", "A long chat", 1.0, float(messages)), tree, messages)
    store.close()


def bare(assistant: Any, messages: Sequence[Message]) -> None:
    """Answer each line of stdin, in one conversation, and show nothing."""
    told = list(messages)
    for line in sys.stdin:
        told.append(Message("user", line.strip()))
        answer = "".join(news.text for news in assistant.answer(told))
        told.append(Message("assistant", answer))


def main() -> int:
    """Fill a store, or answer."""
    parser = argparse.ArgumentParser(prog="python -m tests.performance")
    parser.add_argument("what", choices=["fill", "screen", "bare"])
    parser.add_argument("where")
    parser.add_argument("--rate", type=float, default=75.0)
    parser.add_argument("--model", help="a real one in place of the script")
    parser.add_argument("--max-tokens", type=int, default=48)
    options = parser.parse_args()
    if options.what == "fill":
        fill(int(options.where))
        return 0

    def load(settings: Settings, progress: Progress) -> Any:
        if not options.model:
            return Timed(Paced(rate=options.rate), Path(options.where))
        from app.assistant.assistant import Assistant

        return Timed(Assistant.load(settings, progress), Path(options.where))

    settings = Settings(model=options.model or "builtin", draft="none", max_tokens=options.max_tokens)
    desk = Desk(Worker(load, settings), Shelf(locations.chats_file()))
    if desk.shelf.reading.latest() is not None:
        desk.open(desk.shelf.latest())
    first_time()  # nobody is asked about a better pair
    if options.what == "bare":
        assistant = load(settings, lambda sentence: None)
        bare(assistant, [Message(m.role, m.text) for m in desk.conversation.path])
        return 0
    from app.tui import chat

    return chat(desk)


if __name__ == "__main__":
    sys.exit(main())
