"""An assistant that plays a script to the screen: no model, no MLX. Also a program, to look at it by hand:

python -m tests.screenplay [SECONDS_A_ROUND]
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.assistant.assistant import PromptProgress
from app.assistant.pair import Progress
from app.assistant.template import Message
from app.desk.desk import Desk
from app.desk.shelf import Shelf
from app.settings.settings import Settings
from app.thinking import Markers
from app.thread.worker import Worker
from mlx_spec.errors import SpecError
from mlx_spec.events import FinishReason, Round
from mlx_spec.metrics import Metrics
from mlx_spec.verdict.diagnose import Verdict
from models import locations

Piece = tuple[str, str]
DRAFT, TARGET, PLAIN = "draft:lookup", "target", "plain"

FACTS: dict[str, Any] = {
    "speedup": {"value": 0.512, "low": 0.48, "high": 0.55},
    "predicted": 0.5,
    "verify_cost": {"1": 1.0, "2": 1.88, "3": 2.79, "5": 4.53, "9": 8.6},
    "serial_index": 0.88,
}
PARKED = Verdict("parked", "verification", "Verification is serialized: 5 rows cost 4.5x one row.", FACTS)
PAYING = Verdict("paying", None, "It pays.", {"speedup": {"value": 1.8, "low": 1.6, "high": 2.0}})
SILENT = Verdict("off", "user", "Speculation is off: no draft source was chosen.", now="off")


def rounds(*pieces: str, origin: str = PLAIN, reason: FinishReason = "stop") -> list[Round]:
    """One plain round a piece of text."""
    last = len(pieces) - 1
    return [
        Round([i], [origin], [(origin, text)], finish_reason=reason if i == last else None)
        for i, text in enumerate(pieces)
    ]


def speculative(words: Sequence[str], k: int = 4) -> list[Round]:
    """Rounds of up to K drafted words and one of the target's, fewer accepted now and then."""
    made, at = [], 0
    while at < len(words):
        accepted = min((4, 2, 3, 0, 4)[len(made) % 5], k, len(words) - at - 1)
        part = words[at : at + accepted + 1]
        origins = [DRAFT] * accepted + [TARGET]
        at += len(part)
        pieces = list(zip(origins, part, strict=True))
        reason: FinishReason | None = "stop" if at >= len(words) else None
        made.append(Round(list(range(len(part))), origins, pieces, k, accepted, reason))
    return made


def silent() -> Metrics:
    """The metrics of an assistant without a draft source."""
    return Metrics(verdict=SILENT)


@dataclass
class Scripted:
    """Plays `answers` one after the other; an exception in place of an answer is raised.

    Attributes:
        pace: seconds before each round.
        prefill: what is told of reading before the first round.
        unsaved: why the prompt cache could not be saved.
        asked: the messages of each request.
        chosen: what each request said of a context that is full.
        going: rounds come only while it is set.
        threads: that any method but `stop` ran on.
    """

    answers: list[list[Round] | Exception] = field(default_factory=list)
    pace: float = 0.0
    model: str = "SmolLM2-135M-Instruct (4-bit)"
    draft: str = "lookup"
    context_limit: int = 8192
    warnings: list[str] = field(default_factory=list)
    markers: Markers = field(default_factory=Markers)
    notices: list[str] = field(default_factory=list)
    prefill: list[tuple[int, int]] = field(default_factory=list)
    unsaved: str | None = None
    metrics: Metrics = field(default_factory=silent)
    asked: list[list[Message]] = field(default_factory=list)
    context_full: str = "stop"
    chosen: list[str | None] = field(default_factory=list)
    going: threading.Event = field(default_factory=threading.Event)
    threads: set[int] = field(default_factory=set)
    closed: int = 0
    calls: int = 0  # of a measurement that nobody interrupts
    found: Verdict | None = None
    unkept: str | None = None
    unfit: dict[str, Exception] = field(default_factory=dict)
    retuned: list[tuple[int | str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.going.set()
        self._stopping = threading.Event()

    def answer(
        self,
        messages: Sequence[Message],
        *,
        context_full: str | None = None,
        progress: PromptProgress = lambda read, total: None,
    ) -> Iterator[Round]:
        self.threads.add(threading.get_ident())
        self.asked.append(list(messages))
        self.chosen.append(context_full)
        self._stopping.clear()
        script = self.answers.pop(0)
        if isinstance(script, Exception):
            self.going.wait()
            raise script
        verdict, target_bytes = self.metrics.verdict, self.metrics.target_bytes
        self.metrics = Metrics(state="speculating", source="lookup") if any(e.k for e in script) else silent()
        self.metrics.verdict, self.metrics.target_bytes = verdict, target_bytes
        self.metrics.context_limit = self.context_limit
        for read, total in self.prefill:
            progress(read, total)
        for event in script:
            time.sleep(self.pace)
            while not self.going.wait(0.01) and not self._stopping.is_set():
                pass
            if self._stopping.is_set():
                yield Round(finish_reason="interrupt")
                return
            self.metrics.k = event.k
            # A first token after 0.42 s, and 12.3 of them a second from then on.
            later = self.metrics.later_tokens + len(event.tokens) if self.metrics.ttft_s else 0
            self.metrics.record(event.k, event.accepted, len(event.tokens), seconds=0.42 + later / 12.3)
            self.metrics.context_used = 40 + self.metrics.completion_tokens
            yield event
        self.metrics.finish_reason = script[-1].finish_reason

    def retune(self, settings: Settings, progress: Progress) -> None:
        """An exception in `unfit` is raised; else the draft is the one that is named."""
        self.threads.add(threading.get_ident())
        progress(f"Loading the draft {settings.draft}.")
        if settings.draft in self.unfit:
            raise self.unfit[settings.draft]
        self.warnings, self.draft = [], settings.draft
        self.retuned.append((settings.k, settings.draft))

    def measure(self) -> Generator[None, None, None]:
        self.threads.add(threading.get_ident())
        while self.calls:
            self.calls -= 1
            self.metrics.verdict = self.found or self.metrics.verdict
            yield
            time.sleep(self.pace)

    def keep(self) -> str | None:
        self.threads.add(threading.get_ident())
        return self.unkept

    def stop(self) -> None:
        self._stopping.set()

    def save(self) -> str | None:
        return self.unsaved

    def close(self) -> None:
        self.threads.add(threading.get_ident())
        self.closed += 1


def worker_for(assistant: Scripted | Exception, hold: threading.Event | None = None) -> Worker:
    """A worker whose loading reports progress, waits for `hold`, then gives `assistant` or raises it."""

    def load(settings: Settings, progress: Progress) -> Any:
        progress("Reading the weights of builtin.")
        while hold is not None and not hold.wait(0.01):
            progress("Still reading.")
        if isinstance(assistant, Exception):
            raise assistant
        return assistant

    return Worker(load, Settings())


def desk_for(worker: Worker) -> Desk:
    """A desk that keeps its chats where the environment says."""
    return Desk(worker, Shelf(locations.chats_file()))


STORY = """\
A *speculative* round has three steps:

1. The **draft source** proposes `K` tokens.
2. The target reads all of them in one pass.
3. Tokens that the target would have said stay; the first other one is corrected.

In Python, the heart of it is short:

```python
def leading(kept):
    \"\"\"How many drafted tokens stand.\"\"\"
    n = 0
    for ok in kept:
        if not ok:
            break
        n += 1
    return n
```

> Lossless means: the same distribution, not the same speed.

| kind | means |
|---|---|
| draft | proposed and kept |
| bonus | the target's own |

日本語の文章も、[bold]そのまま[/bold]。
"""


def main() -> int:
    """Show the screen over a script."""
    import re

    from app.tui import chat

    pace = float(sys.argv[1]) if len(sys.argv) > 1 else 0.1
    words = re.findall(r"\s*\S+|\s+$", STORY)
    code = [f"line_{i} = {i}\n" for i in range(400)]
    answers: list[list[Round] | Exception] = [
        speculative(words),
        rounds("<think>\n", "A quick", " thought.", "\n</think>\n\n", "The quick", " brown fox", " jumps."),
        SpecError(
            "The prompt has 9000 tokens, and the context holds 8192.", "Shorten it, or start a new chat."
        ),
        rounds("\x1b[31mred\x1b[0m \x1b]52;c;aGk=\x07 ", "[bold]not bold[/bold]", " <b>tag</b> &#27;"),
        rounds("```python\n", *code, "```\n"),
    ]
    time_to_load = threading.Event()
    threading.Timer(2.0, time_to_load.set).start()
    return chat(desk_for(worker_for(Scripted(answers * 3, pace=pace), time_to_load)))


if __name__ == "__main__":
    sys.exit(main())
