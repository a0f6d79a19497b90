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
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from app.events import (
    Emitted,
    Event,
    Failed,
    Finished,
    Loading,
    Measured,
    Prefilled,
    Ready,
    Snapshot,
    Started,
    Warned,
)

if TYPE_CHECKING:
    from app.assistant import Assistant
    from app.pair import Progress
    from app.template import Message
    from mlx_spec.events import FinishReason


@dataclass
class _Request:
    messages: Sequence[Message]
    context_full: str
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
        self._may_measure = True

    def start(self) -> None:
        """Start loading."""
        self._started = True
        self._thread.start()

    def answer(self, messages: Sequence[Message], context_full: str = "stop") -> None:
        """Ask for an answer to `messages`, the last of which is the user's.

        Args:
            messages: the conversation.
            context_full: what to do if it does not fit the context: stop, or drop its oldest turns.
        """
        self._current = _Request(tuple(messages), context_full)
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
            while (request := self._next()) is not None and not self._closing.is_set():
                self._serve(request)
        finally:
            self._free()
            # Without this the CPU build of MLX aborts the process at exit.
            if (mx := sys.modules.get("mlx.core")) is not None:
                mx.synchronize()
                mx.clear_streams()

    def _free(self) -> None:
        try:
            if self._assistant is not None:
                for sentence in filter(None, (self._assistant.save(), self._assistant.keep())):
                    self.events.append(Warned(sentence))
                self._assistant.close()
        except Exception as error:  # noqa: BLE001 - such as a trace that a full disk cannot take
            self.events.append(Failed.of(error))

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
                self._assistant.context_full,
                tuple(self._assistant.warnings),
                Snapshot.of(self._assistant.metrics),
            )
        )

    def _next(self) -> _Request | None:
        """Wait for a request, and use the time until it comes."""
        if self._assistant is not None and self._may_measure:
            self._measure(self._assistant)
        return self._requests.get()

    def _measure(self, assistant: Assistant) -> None:
        """Measure the backend a call at a time, as long as nobody asks for anything."""
        called = False
        try:
            with closing(assistant.measure()) as calls:
                while self._requests.empty() and next(calls, calls) is not calls:
                    called = True
            if called:
                self.events.append(Measured(Snapshot.of(assistant.metrics)))
                if (unkept := assistant.keep()) is not None:
                    self.events.append(Warned(unkept))
        except Exception as error:  # noqa: BLE001 - the chat goes on without
            self._may_measure = False
            self.events.append(Failed.of(error))

    def _progress(self, sentence: str) -> None:
        if self._closing.is_set():
            raise _Closing
        self.events.append(Loading(sentence))

    def _serve(self, request: _Request) -> None:
        if self._assistant is None:
            self.events.append(Failed("There is no model to answer.", "Quit and start again.", 1))
            return
        try:
            self._answer(self._assistant, request)
        except Exception as error:  # noqa: BLE001 - a failed answer must not end the chat
            self.events.append(Failed.of(error))

    def _answer(self, assistant: Assistant, request: _Request) -> None:
        def hear() -> None:
            # A stop that came before the engine began is lost on it: say it again.
            if request.stopped.is_set():
                assistant.stop()

        def read(tokens: int, total: int) -> None:
            self.events.append(Prefilled(tokens, total))
            hear()

        if request.stopped.is_set():
            self.events.append(Finished("interrupt"))
            return
        rounds = assistant.answer(request.messages, context_full=request.context_full, progress=read)
        self.events.append(Started(assistant.markers, tuple(assistant.notices)))
        hear()
        reason: FinishReason = "interrupt"
        for event in rounds:
            self.events.append(Emitted(event, Snapshot.of(assistant.metrics)))
            reason = event.finish_reason or reason
            hear()
        self.events.append(Finished(reason, assistant.metrics.context_full))
