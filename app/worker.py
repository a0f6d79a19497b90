"""The engine thread: the only one that ever touches the model.

MLX binds streams, unevaluated arrays and its random state to a thread, so one long-lived thread
imports, loads, generates and closes. Requests go in by a queue, events come out by a deque, and
nothing that crosses over holds an array.
"""

from __future__ import annotations

import queue
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from app.errors import exit_code, sentence
from mlx_spec.errors import SpecError

if TYPE_CHECKING:
    from app.assistant import Assistant, Message
    from mlx_spec.events import FinishReason, Round

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Snapshot:
    """The engine's metrics at one moment, copied on the engine thread. Unknown values are None.

    Attributes:
        k: draft tokens of the next round.
        tok_s: tokens a second.
        acceptance_rate: accepted / drafted.
        acceptance_length: tokens a speculative round.
        ttft_s: seconds to the first token.
        context_used: tokens of context in use.
        completion_tokens: tokens of the answer so far.
        state: off, measuring, speculating or parked.
        reason: why it is not speculating, in words.
        source: the draft source's name, or None.
    """

    k: int
    tok_s: float | None
    acceptance_rate: float | None
    acceptance_length: float | None
    ttft_s: float | None
    context_used: int
    completion_tokens: int
    state: str
    reason: str | None
    source: str | None

    @classmethod
    def of(cls, metrics: Any) -> Snapshot:
        """Copy `metrics` (mlx_spec.metrics.Metrics)."""
        speculation = metrics.speculation()
        return cls(
            k=metrics.k,
            tok_s=metrics.tok_s,
            acceptance_rate=metrics.acceptance_rate,
            acceptance_length=metrics.acceptance_length,
            ttft_s=metrics.ttft_s,
            context_used=metrics.context_used,
            completion_tokens=metrics.completion_tokens,
            state=speculation["state"],
            reason=speculation["reason"],
            source=speculation["source"],
        )


@dataclass(frozen=True)
class Loading:
    """The model is being loaded; `sentence` says how far it is."""

    sentence: str


@dataclass(frozen=True)
class Ready:
    """The model is loaded.

    Attributes:
        model, draft: names for the screen.
        context_limit: tokens.
        warnings: sentences that the user must see.
        snapshot: the metrics before the first answer.
    """

    model: str
    draft: str
    context_limit: int
    warnings: tuple[str, ...]
    snapshot: Snapshot


@dataclass(frozen=True)
class Started:
    """The engine took up a request and reads its prompt."""


@dataclass(frozen=True)
class Emitted:
    """A round came back."""

    round: Round
    snapshot: Snapshot


@dataclass(frozen=True)
class Finished:
    """An answer ended."""

    reason: FinishReason


@dataclass(frozen=True)
class Failed:
    """Loading or a request failed; the thread lives on.

    Attributes:
        message: one sentence that says what is wrong.
        next_step: one that says what to do; may be empty.
        exit_code: what the program returns if it cannot go on.
        loading: there is no model now, so no request can be answered.
    """

    message: str
    next_step: str
    exit_code: int
    loading: bool = False

    @classmethod
    def of(cls, error: Exception, *, loading: bool = False) -> Failed:
        if isinstance(error, SpecError):
            return cls(error.message, error.next_step, exit_code(error), loading)
        return cls(sentence(error), "", exit_code(error), loading)


Event = Loading | Ready | Started | Emitted | Finished | Failed


@dataclass
class _Request:
    messages: Sequence[Message]
    stopped: threading.Event = field(default_factory=threading.Event)


class _Closing(Exception):
    """Raised out of loading, because the program is being closed."""


class Worker:
    """Owns the engine thread. Its methods may be called from any other; only `close` waits.

    Attributes:
        events: what happened, oldest first; whoever listens takes from the left.
    """

    def __init__(self, load: Callable[[Progress], Assistant]) -> None:
        """Args:
        load: makes the assistant, on the engine thread; gets a function that takes progress sentences.
        """
        self.events: deque[Event] = deque()
        self._load = load
        self._requests: queue.SimpleQueue[_Request | None] = queue.SimpleQueue()
        self._current: _Request | None = None
        self._assistant: Assistant | None = None
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="engine")
        self._started = False

    def start(self) -> None:
        """Start loading."""
        self._started = True
        self._thread.start()

    def answer(self, messages: Sequence[Message]) -> None:
        """Ask for an answer to `messages`, the last of which is the user's."""
        self._current = _Request(tuple(messages))
        self._requests.put(self._current)

    def stop(self) -> None:
        """End the answer that is running or waiting; what was emitted stays. Harmless if there is none."""
        if self._current is not None:
            self._current.stopped.set()
        if self._assistant is not None:
            self._assistant.stop()

    def drain(self) -> list[Event]:
        """Take all events that are there now."""
        return [self.events.popleft() for _ in range(len(self.events))]

    def close(self) -> None:
        """Stop, let the thread free the model, and wait for its end. May be called more than once."""
        self._closing.set()
        self.stop()
        self._requests.put(None)
        if self._started:
            self._thread.join()

    @property
    def alive(self) -> bool:
        """The thread runs."""
        return self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._open()
            while (request := self._requests.get()) is not None and not self._closing.is_set():
                self._serve(request)
        finally:
            if self._assistant is not None:
                self._assistant.close()
            # Without this the CPU build of MLX aborts the process at exit.
            if (mx := sys.modules.get("mlx.core")) is not None:
                mx.synchronize()
                mx.clear_streams()

    def _open(self) -> None:
        try:
            self._assistant = self._load(self._progress)
        except _Closing:
            return
        except Exception as error:  # noqa: BLE001 - whatever went wrong, the user must read it on the screen
            self.events.append(Failed.of(error, loading=True))
            return
        self.events.append(
            Ready(
                self._assistant.model,
                self._assistant.draft,
                self._assistant.context_limit,
                tuple(self._assistant.warnings),
                Snapshot.of(self._assistant.metrics),
            )
        )

    def _progress(self, sentence: str) -> None:
        if self._closing.is_set():
            raise _Closing
        self.events.append(Loading(sentence))

    def _serve(self, request: _Request) -> None:
        if self._assistant is None:
            self.events.append(Failed("There is no model to answer.", "Quit and start again.", 1))
            return
        self.events.append(Started())
        reason: FinishReason = "interrupt"
        try:
            if not request.stopped.is_set():
                for event in self._assistant.answer(request.messages):
                    self.events.append(Emitted(event, Snapshot.of(self._assistant.metrics)))
                    reason = event.finish_reason or reason
                    # A stop that came before the engine began is lost on it: say it again.
                    if request.stopped.is_set():
                        self._assistant.stop()
        except Exception as error:  # noqa: BLE001 - a failed answer must not end the chat
            self.events.append(Failed.of(error))
        else:
            self.events.append(Finished(reason))
