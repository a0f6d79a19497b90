"""The engine thread: the only one that ever touches the model.

MLX binds streams, unevaluated arrays and its random state to a thread, so one long-lived thread
imports, loads, generates and closes. Requests go in by a queue, events come out by a deque, and
nothing that crosses over holds an array.
"""

from __future__ import annotations

import gc
import queue
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from app.answer import facts
from app.errors import INTERRUPTED
from app.settings.config import typed
from app.thread.events import (
    Emitted,
    Event,
    Failed,
    Finished,
    Loading,
    Measured,
    Prefilled,
    Ready,
    Refused,
    Retuned,
    Snapshot,
    Started,
    Switched,
    Switching,
    Warned,
)
from app.thread.memory import Memory
from app.thread.requests import Request, Retune, Switch
from mlx_spec.errors import SpecError

if TYPE_CHECKING:
    from app.assistant.assistant import Assistant
    from app.assistant.pair import Progress
    from app.assistant.template import Message
    from app.settings.settings import Settings
    from mlx_spec.events import FinishReason


class _Interrupted(Exception):
    """Raised out of loading, because the program is being closed or the load was stopped."""


class Worker:
    """Owns the engine thread. Its methods may be called from any other; only `close` waits.

    Attributes:
        events: what happened, oldest first; whoever listens takes from the left.
    """

    def __init__(self, load: Callable[[Settings, Progress], Assistant], settings: Settings) -> None:
        """Args:
        load: makes the assistant of some settings, on the engine thread; gets a function that takes
            progress sentences.
        settings: to begin with.
        """
        self.events: deque[Event] = deque()
        self._load = load
        self._settings = settings
        self._k_when_on: int | str = settings.k or "auto"
        self._requests: queue.SimpleQueue[Request | Retune | Switch | None] = queue.SimpleQueue()
        self._current: Request | None = None
        self._change: Retune | Switch | None = None  # that is under way
        self._assistant: Assistant | None = None
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="engine")
        self._started = False
        self._wanted = self._changed = 0  # changes that were asked for, and those that are over
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
        self._current = Request(tuple(messages), context_full)
        self._requests.put(self._current)

    @property
    def changing(self) -> bool:
        """Another K, source or pair was asked for, and what became of it is not among the events yet."""
        return self._changed < self._wanted

    @property
    def settings(self) -> Settings:
        """Those of the pair that is loaded now, or that was to be loaded at first."""
        return self._settings

    def retune(
        self, *, k: str | None = None, draft: str | None = None, speculation: bool | None = None
    ) -> None:
        """Speculate otherwise with the same target, after the answer that runs: `Retuned`, or `Refused`.

        Args:
            k: a number or auto, as typed.
            draft: a source as --draft names it, as typed.
            speculation: False is K = 0; True brings the latest other K back.

        Raises:
            UsageError: a value is none that the option takes.
        """
        changes = typed({name: text for name, text in (("k", k), ("draft", draft)) if text is not None})
        self._change_to(Retune(changes, speculation))

    def switch(self, settings: Settings) -> None:
        """Load another pair in the place of this one, after the answer that runs.

        The old pair is freed first, so that both never share the memory. Events: `Switching`, `Loading`,
        then `Ready` and `Switched`; or `Refused`, and the old pair is loaded again.

        Args:
            settings: best made of `settings` with another model and draft.
        """
        self._change_to(Switch(settings))

    def _change_to(self, change: Retune | Switch) -> None:
        self._wanted += 1
        self._requests.put(change)

    def stop(self) -> None:
        """End the answer that is running or waiting; what was emitted stays. Harmless if there is none.

        A load that is under way for `retune` or `switch` is given up at its next word, and is refused.
        """
        if (change := self._change) is not None:
            change.stopped.set()
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

    def successor(self) -> Worker:
        """Another worker that will load what this one had; for when this one is closed."""
        worker = Worker(self._load, self._settings)
        worker._k_when_on = self._k_when_on
        return worker

    def _run(self) -> None:
        try:
            if (failed := self._open(self._settings)) is not None and not self._closing.is_set():
                self.events.append(replace(failed, loading=True))
            while (request := self._next()) is not None and not self._closing.is_set():
                match request:
                    case Request():
                        self._serve(request)
                    case Retune():
                        self._retune(request)
                        self._changed += 1
                    case Switch():
                        self._switch(request)
                        self._changed += 1
        finally:
            self._free()
            # Without this the CPU build of MLX aborts the process at exit.
            if (mx := sys.modules.get("mlx.core")) is not None:
                mx.synchronize()
                mx.clear_streams()

    def _free(self) -> None:
        """Let go of the assistant."""
        assistant, self._assistant = self._assistant, None
        try:
            if assistant is not None:
                for sentence in filter(None, (assistant.save(), assistant.keep())):
                    self.events.append(Warned(sentence))
                assistant.close()
        except Exception as error:  # noqa: BLE001 - such as a trace that a full disk cannot take
            self.events.append(Failed.of(error))

    def _open(self, settings: Settings) -> Failed | None:
        """Load the assistant of `settings`; the reason if that failed.

        A reason and not the error itself, which would hold on to what was loaded until it came.
        """
        try:
            self._assistant = self._load(settings, self._progress)
        except _Interrupted:
            return Failed("Loading was stopped.", "", INTERRUPTED)
        except Exception as error:  # noqa: BLE001 - whatever went wrong, the user must read it on the screen
            return Failed.of(error)
        self._settings, self._may_measure = settings, True
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
        return None

    def _switch(self, change: Switch) -> None:
        had_one, old, wanted = self._assistant is not None, self._settings, change.settings
        before = Memory.now()
        self.events.append(Switching(wanted.model, wanted.draft, before))
        self._free()
        _give_back()
        freed = Memory.now()
        self._change = change
        failed = self._open(wanted)
        self._change = None
        restored = failed is not None and had_one
        if failed is not None and had_one:
            self.events.append(Refused(failed.message, failed.next_step, failed.exit_code))
            _give_back()
            failed = self._open(old)
        if failed is None:
            self.events.append(Switched(before, freed, Memory.now(), restored))
        elif not self._closing.is_set():
            self.events.append(replace(failed, loading=True))

    def _retune(self, change: Retune) -> None:
        self._change = change
        try:
            self._settings = self._retuned(change)
        except _Interrupted:
            self.events.append(Refused("Loading was stopped.", "All is as it was.", INTERRUPTED))
        except Exception as error:  # noqa: BLE001 - whatever went wrong, the chat goes on as it was
            failed = Failed.of(error)
            self.events.append(Refused(failed.message, failed.next_step, failed.exit_code))
        finally:
            self._change = None

    def _retuned(self, change: Retune) -> Settings:
        """Carry the change out, and tell.

        Raises:
            SpecError: it makes no sense here, or the draft model cannot be had.
        """
        assistant = self._assistant
        if assistant is None:
            raise SpecError("There is no model that could speculate.", "Choose one first.")
        settings = change.applied(self._settings, self._k_when_on)
        assistant.retune(settings, self._progress)
        if settings.draft != self._settings.draft:
            _give_back()
        self._k_when_on = settings.k or self._k_when_on
        found = Snapshot.of(assistant.metrics)
        self.events.append(Retuned(assistant.draft, settings.k, tuple(assistant.warnings), found))
        return settings

    def _next(self) -> Request | Retune | Switch | None:
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
            # No failure of an answer: one may have been asked for meanwhile.
            failed = Failed.of(error)
            self.events.append(Warned(f"{failed.message} {failed.next_step}".strip()))

    def _progress(self, sentence: str) -> None:
        if self._closing.is_set() or (self._change is not None and self._change.stopped.is_set()):
            raise _Interrupted
        self.events.append(Loading(sentence))

    def _serve(self, request: Request) -> None:
        if self._assistant is None:
            self.events.append(Failed("There is no model to answer.", "Quit and start again.", 1))
            return
        try:
            self._answer(self._assistant, request)
        except Exception as error:  # noqa: BLE001 - a failed answer must not end the chat
            self.events.append(Failed.of(error))

    def _answer(self, assistant: Assistant, request: Request) -> None:
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
        metrics = assistant.metrics
        known = facts(metrics, assistant.model, assistant.draft)
        self.events.append(Finished(reason, metrics.context_full, known))


def _give_back() -> None:
    """Give memory of what nothing refers to any more back to the system."""
    gc.collect()  # models and what watches them refer to each other
    if (mx := sys.modules.get("mlx.core")) is not None:
        mx.clear_cache()
        mx.reset_peak_memory()
