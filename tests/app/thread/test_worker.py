"""The engine thread: one thread for the model's whole life, and an end for every beginning."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterator

import pytest
from screenplay import PLAIN, SILENT, Scripted, rounds, worker_for

from app.assistant.template import Message
from app.thinking import Markers
from app.thread.events import (
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
from app.thread.worker import Worker
from mlx_spec.errors import PromptTooLong, SpecError
from mlx_spec.events import Round

ASK = [Message("user", "Hello?")]


def take(worker: Worker, last: type[Event]) -> list[Event]:
    """The events up to the first of kind `last`."""
    events: list[Event] = []
    deadline = time.monotonic() + 10
    while not (events and isinstance(events[-1], last)):
        assert time.monotonic() < deadline, events
        if worker.events:
            events.append(worker.events.popleft())
        else:
            time.sleep(0.002)
    return events


@pytest.fixture
def started() -> Iterator[list[Worker]]:
    """Workers to close at the end of a test, whatever happened."""
    workers: list[Worker] = []
    yield workers
    for worker in workers:
        worker.close()
        assert not worker._thread.is_alive()


def start(
    assistant: Scripted | Exception, started: list[Worker], hold: threading.Event | None = None
) -> Worker:
    worker = worker_for(assistant, hold)
    started.append(worker)
    worker.start()
    return worker


def test_loading_then_an_answer_in_the_order_of_their_happening(started: list[Worker]) -> None:
    worker = start(Scripted([rounds("Hel", "lo")], warnings=["Mind the step."]), started)
    loading, ready = take(worker, Ready)
    assert loading == Loading("Reading the weights of builtin.")
    assert isinstance(ready, Ready)
    assert (ready.draft, ready.context_limit, ready.warnings) == ("lookup", 8192, ("Mind the step.",))
    assert (ready.snapshot.state, ready.snapshot.verdict) == ("off", SILENT)

    worker.answer(ASK)
    first, *emitted, finished = take(worker, Finished)
    assert first == Started()
    assert "".join(event.round.text for event in emitted if isinstance(event, Emitted)) == "Hello"
    assert finished == Finished("stop")


def test_a_snapshot_is_a_copy_that_later_rounds_do_not_change(started: list[Worker]) -> None:
    worker = start(Scripted([rounds("a", "b", "c")]), started)
    worker.answer(ASK)
    emitted = [event for event in take(worker, Finished) if isinstance(event, Emitted)]
    assert [event.snapshot.completion_tokens for event in emitted] == [1, 2, 3]
    assert all(isinstance(event.snapshot, Snapshot) for event in emitted)


def test_one_thread_and_not_the_callers_does_all_but_stop(started: list[Worker]) -> None:
    assistant = Scripted([rounds("a"), rounds("b")])
    worker = start(assistant, started)
    for _ in range(2):
        worker.answer(ASK)
        take(worker, Finished)
    worker.close()
    assert len(assistant.threads) == 1
    assert threading.get_ident() not in assistant.threads
    assert assistant.closed == 1


def test_stop_ends_an_answer_and_keeps_what_came(started: list[Worker]) -> None:
    assistant = Scripted([rounds(*"abcdefgh"), rounds("again")], pace=0.02)
    worker = start(assistant, started)
    worker.answer(ASK)
    take(worker, Emitted)
    worker.stop()
    assert take(worker, Finished)[-1] == Finished("interrupt")
    worker.answer(ASK)
    assert take(worker, Finished)[-1] == Finished("stop")


def test_stop_reaches_a_request_that_the_engine_has_not_taken_up(started: list[Worker]) -> None:
    hold = threading.Event()
    assistant = Scripted([rounds("never")])
    worker = start(assistant, started, hold)
    worker.answer(ASK)
    worker.stop()
    hold.set()
    assert take(worker, Finished)[-1] == Finished("interrupt")
    assert assistant.asked == []


def test_a_stop_that_the_engine_forgot_is_said_again(started: list[Worker]) -> None:
    class Forgetful(Scripted):
        """Clears the stop that came just before its first round, as an engine that begins does."""

        def answer(self, messages: object, **rest: object) -> Iterator[Round]:
            worker.stop()
            self._stopping.clear()
            for _ in range(1000):
                if self._stopping.is_set():
                    yield Round(finish_reason="interrupt")
                    return
                yield Round([1], [PLAIN], [(PLAIN, "x")])

    worker = start(Forgetful(), started)
    worker.answer(ASK)
    events = take(worker, Finished)
    assert events[-1] == Finished("interrupt")
    assert len(events) < 20


def test_a_prompt_is_announced_with_what_the_user_must_see_and_how_far_it_is_read(
    started: list[Worker],
) -> None:
    assistant = Scripted([rounds("a")], notices=["Mind."], markers=Markers(opener="<think>\n"))
    assistant.prefill = [(512, 600), (600, 600)]
    worker = start(assistant, started)
    take(worker, Ready)
    worker.answer(ASK, "drop")
    read = [event for event in take(worker, Finished) if isinstance(event, Prefilled | Started)]
    assert read == [Started(assistant.markers, ("Mind.",)), Prefilled(512, 600), Prefilled(600, 600)]
    assert assistant.chosen == ["drop"]


def test_an_answer_that_the_context_cut_says_so(started: list[Worker]) -> None:
    worker = start(Scripted([rounds("a", "b", reason="length")], context_limit=42), started)
    worker.answer(ASK)
    assert take(worker, Finished)[-1] == Finished("length", context_full=True)


def test_a_prompt_that_does_not_fit_is_a_failure_of_its_own_kind(started: list[Worker]) -> None:
    worker = start(Scripted([PromptTooLong("Too long.", "Shorten it.")]), started)
    worker.answer(ASK)
    assert take(worker, Failed)[-1] == Failed("Too long.", "Shorten it.", 1, too_long=True)


def test_a_cache_that_cannot_be_saved_at_the_end_is_told_and_no_failure(started: list[Worker]) -> None:
    worker = start(Scripted(unsaved="The prompt cache could not be saved."), started)
    take(worker, Ready)
    worker.close()
    assert worker.drain() == [Warned("The prompt cache could not be saved.")]


def test_stop_with_nothing_running_does_nothing(started: list[Worker]) -> None:
    worker = start(Scripted([rounds("a")]), started)
    worker.stop()
    take(worker, Ready)
    worker.stop()
    worker.answer(ASK)
    assert take(worker, Finished)[-1] == Finished("stop")


def test_a_failed_answer_says_what_to_do_and_the_next_one_runs(started: list[Worker]) -> None:
    worker = start(Scripted([SpecError("Too long.", "Shorten it."), ValueError("odd"), rounds("a")]), started)
    worker.answer(ASK)
    assert take(worker, Failed)[-1] == Failed("Too long.", "Shorten it.", exit_code=1)
    worker.answer(ASK)
    failed = take(worker, Failed)[-1]
    assert isinstance(failed, Failed)
    assert "ValueError: odd" in failed.message
    worker.answer(ASK)
    assert take(worker, Finished)[-1] == Finished("stop")


def test_failed_loading_leaves_a_thread_that_still_closes(started: list[Worker]) -> None:
    worker = start(SpecError("No such model.", "Check --model."), started)
    assert take(worker, Failed)[-1] == Failed("No such model.", "Check --model.", exit_code=1, loading=True)
    worker.answer(ASK)
    failed = take(worker, Failed)[-1]
    assert isinstance(failed, Failed)
    assert "no model" in failed.message


def test_close_ends_loading_at_its_next_word(started: list[Worker]) -> None:
    worker = start(Scripted(), started, hold=threading.Event())
    take(worker, Loading)
    worker.close()
    assert not worker._thread.is_alive()
    assert not any(isinstance(event, Ready | Failed) for event in worker.events)


def test_close_ends_an_answer_that_runs(started: list[Worker]) -> None:
    assistant = Scripted([rounds(*"x" * 1000)], pace=0.01)
    worker = start(assistant, started)
    worker.answer(ASK)
    take(worker, Emitted)
    worker.close()
    assert not worker._thread.is_alive()
    assert assistant.closed == 1


def test_close_may_come_twice_and_before_the_start() -> None:
    worker = worker_for(Scripted())
    worker.close()
    worker.close()
    assert not worker._thread.is_alive()


def test_an_assistant_that_cannot_be_closed_is_told_of_and_the_thread_ends(started: list[Worker]) -> None:
    class Full(Scripted):
        def close(self) -> None:
            raise OSError(28, "No space left on device")

    worker = start(Full(), started)
    take(worker, Ready)
    worker.close()
    assert worker.drain() == [Failed("No space left on device.", "", 1)]


def test_a_defect_shows_where_it_is_if_asked_to(
    started: list[Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPECCHAT_DEBUG", "1")
    worker = start(KeyError("x"), started)  # type: ignore[arg-type]
    failed = take(worker, Failed)[-1]
    assert isinstance(failed, Failed)
    assert "Traceback" in failed.message
    assert "screenplay.py" in failed.message


def test_idle_time_measures_and_says_so_once(started: list[Worker]) -> None:
    assistant = Scripted([rounds("a")], calls=5)
    worker = start(assistant, started)
    assert isinstance(take(worker, Measured)[-1], Measured)
    assert assistant.calls == 0
    worker.answer(ASK)
    take(worker, Finished)
    worker.close()
    assert not any(isinstance(event, Measured) for event in worker.drain()), (
        "there was nothing more to measure"
    )
    assert len(assistant.threads) == 1


def test_a_request_ends_a_measurement_after_its_present_call(started: list[Worker]) -> None:
    assistant = Scripted([rounds("a")], calls=1_000_000, pace=0.01)
    worker = start(assistant, started)
    take(worker, Ready)
    worker.answer(ASK)
    assert take(worker, Finished)[-1] == Finished("stop")
    assert assistant.calls > 900_000


def test_a_request_that_waits_already_is_answered_first(started: list[Worker]) -> None:
    hold = threading.Event()
    assistant = Scripted([rounds("a")], calls=3)
    worker = start(assistant, started, hold)
    worker.answer(ASK)
    hold.set()
    kinds = [type(event) for event in take(worker, Measured)]
    assert kinds.index(Finished) < kinds.index(Measured)


def test_close_ends_a_measurement(started: list[Worker]) -> None:
    worker = start(Scripted(calls=1_000_000, pace=0.01), started)
    take(worker, Ready)
    worker.close()
    assert not worker._thread.is_alive()


def test_a_measurement_that_fails_is_told_of_and_not_tried_again(started: list[Worker]) -> None:
    class Broken(Scripted):
        tried = 0

        def measure(self) -> Generator[None, None, None]:
            self.tried += 1
            yield
            raise MemoryError

    assistant = Broken([rounds("a")])
    worker = start(assistant, started)
    take(worker, Warned)
    worker.answer(ASK)
    assert take(worker, Finished)[-1] == Finished("stop")
    worker.close()
    assert assistant.tried == 1
