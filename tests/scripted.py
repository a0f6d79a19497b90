"""An assistant that plays a script in the place of a model, and a specchat that talks to it.

`Assistant.load` is the one seam: whatever stands in for it is all that the program sees of a model.
Run as a program, this file is `specchat` with an assistant that counts slowly and without end; asked
to "hang", it says one number and then hears nothing.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Sequence

from app.assistant.assistant import Assistant, PromptProgress
from app.assistant.template import Message
from app.cli import main
from app.settings.settings import Settings
from app.thinking import Markers
from mlx_spec.events import Round
from mlx_spec.metrics import Metrics
from mlx_spec.verdict.diagnose import Verdict


def plain(*texts: str, finish: str = "stop") -> list[Round]:
    """Rounds of one plain token each; the last one carries the finish reason."""
    rounds = [Round([i], ["plain"], [("plain", text)]) for i, text in enumerate(texts)]
    return [*rounds, Round(finish_reason=finish)]  # type: ignore[arg-type]


class ScriptedAssistant:
    """Plays `rounds`; keeps what it was asked. After `stop` the next round is the last."""

    model, draft, context_limit, context_full = "scripted (4-bit)", "lookup", 2048, "stop"

    def __init__(
        self,
        rounds: Iterable[Round | Exception | Callable[[], None]],
    ) -> None:
        self.rounds = rounds
        self.warnings: list[str] = []
        self.markers = Markers()
        self.notices: list[str] = []
        self.prefill: list[tuple[int, int]] = []
        self.unsaved: str | None = None
        self.metrics = Metrics(state="speculating", source="lookup")
        self.settings: Settings | None = None
        self.asked: list[Message] = []
        self.stopped = threading.Event()
        self.closed = False
        self.spoilt = False
        self.verdict: Verdict | None = None
        self.calls = self.called = 0  # of a measurement: left, made
        self.unkept: str | None = None

    def load(self, settings: Settings, progress: Callable[[str], None]) -> ScriptedAssistant:
        progress("Loading the script")
        self.settings = settings
        return self

    def answer(
        self,
        messages: Sequence[Message],
        *,
        context_full: str = "stop",
        progress: PromptProgress = lambda read, total: None,
    ) -> Generator[Round, None, None]:
        self.asked = list(messages)
        self.metrics = Metrics(state=self.metrics.state, source="lookup")
        self.metrics.verdict, self.metrics.spoilt = self.verdict, self.spoilt
        self.metrics.context_limit = self.context_limit
        for read, total in self.prefill:
            progress(read, total)
        for i, entry in enumerate(self.rounds):
            if self.stopped.is_set():
                yield Round(finish_reason="interrupt")
                return
            if isinstance(entry, Exception):
                raise entry
            if not isinstance(entry, Round):
                entry()
                continue
            self.metrics.record(entry.k, entry.accepted, len(entry.tokens), seconds=0.5 + i)
            self.metrics.context_used = 10 + self.metrics.completion_tokens
            self.metrics.finish_reason = entry.finish_reason
            yield entry

    def measure(self) -> Generator[None, None, None]:
        for _ in range(self.calls):
            self.calls -= 1
            self.called += 1
            yield

    def keep(self) -> str | None:
        return self.unkept

    def stop(self) -> None:
        self.stopped.set()

    def save(self) -> str | None:
        return self.unsaved

    def close(self) -> None:
        self.closed = True


def _counting(assistant: ScriptedAssistant) -> Generator[Round, None, None]:
    for number in range(10**6):
        yield from plain(f"{number}\n")[:1]
        time.sleep(600 if assistant.asked[0].content == "hang" else 0.02)


if __name__ == "__main__":
    scripted = ScriptedAssistant([])
    scripted.rounds = _counting(scripted)
    Assistant.load = scripted.load  # type: ignore[assignment, method-assign]
    sys.exit(main())
