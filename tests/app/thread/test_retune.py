"""Another K, another draft source, another pair: in one process and one chat, or all as it was."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from screenplay import Scripted, rounds, worker_for
from tiny import tiny_loaded

import models
from app.assistant.assistant import Assistant
from app.assistant.pair import Progress
from app.assistant.template import Message
from app.errors import UsageError
from app.settings.settings import Settings
from app.thread.events import (
    Emitted,
    Event,
    Failed,
    Finished,
    Loading,
    Ready,
    Refused,
    Retuned,
    Switched,
    Switching,
)
from app.thread.worker import Worker
from mlx_spec.engine import Engine
from mlx_spec.errors import PairMismatch, SpecError
from models import Loaded, ModelMissing

ASK = [Message("user", "Hello you, and all the others too")]


def take(worker: Worker, *last: type[Event]) -> list[Event]:
    """The events up to the first of one of these kinds."""
    events: list[Event] = []
    deadline = time.monotonic() + 20
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


def start(worker: Worker, started: list[Worker]) -> Worker:
    started.append(worker)
    worker.start()
    take(worker, Ready, Failed)
    return worker


# With a scripted assistant


def test_another_k_is_told_with_what_the_settings_are_now(started: list[Worker]) -> None:
    assistant = Scripted()
    worker = start(worker_for(assistant), started)
    worker.retune(k="4")
    told = take(worker, Retuned)[-1]
    assert isinstance(told, Retuned)
    assert (told.k, told.draft) == (4, "auto")
    assert worker.settings.k == 4
    assert len(assistant.threads) == 1


def test_speculation_off_and_on_again_comes_back_to_the_same_k(started: list[Worker]) -> None:
    assistant = Scripted()
    worker = start(worker_for(assistant), started)
    worker.retune(k="3")
    for on in (False, True, False, True):
        worker.retune(speculation=on)
    for _ in range(5):
        take(worker, Retuned)
    assert [k for k, _ in assistant.retuned] == [3, 0, 3, 0, 3]


def test_nothing_speculates_without_a_source(started: list[Worker]) -> None:
    worker = start(worker_for(Scripted()), started)
    worker.retune(draft="none")
    take(worker, Retuned)
    worker.retune(speculation=True)
    refused = take(worker, Refused)[-1]
    assert isinstance(refused, Refused)
    assert refused.message == "There is no draft source to speculate with."


@pytest.mark.parametrize("values", [{"k": "17"}, {"k": "many"}, {"draft": "lookpu"}, {"draft": ""}])
def test_a_value_that_makes_no_sense_is_refused_at_once(
    values: dict[str, Any], started: list[Worker]
) -> None:
    assistant = Scripted()
    worker = start(worker_for(assistant), started)
    with pytest.raises(UsageError):
        worker.retune(**values)
    assert (worker.drain(), assistant.retuned) == ([], [])


def test_it_takes_effect_after_the_answer_that_runs(started: list[Worker]) -> None:
    assistant = Scripted([rounds("a", "b", "c")], pace=0.02)
    worker = start(worker_for(assistant), started)
    worker.answer(ASK)
    take(worker, Emitted)
    worker.retune(draft="none")
    kinds = [type(event) for event in take(worker, Retuned)]
    assert kinds.index(Finished) < kinds.index(Retuned)


def test_an_unfit_draft_model_is_a_sentence_and_nothing_else(started: list[Worker]) -> None:
    assistant = Scripted(unfit={"model:x": PairMismatch("It cannot draft.", "Choose another.")})
    worker = start(worker_for(assistant), started)
    worker.retune(draft="model:x", k="2")
    assert take(worker, Refused)[-1] == Refused("It cannot draft.", "Choose another.", 1)
    assert worker.settings == Settings()
    assistant.answers.append(rounds("still here"))
    worker.answer(ASK)
    assert take(worker, Finished)[-1] == Finished("stop")


def test_without_a_model_there_is_nothing_to_tune(started: list[Worker]) -> None:
    worker = start(worker_for(SpecError("No.", "")), started)
    worker.retune(k="2")
    assert isinstance(take(worker, Refused)[-1], Refused)


class Shelf:
    """Loads scripted assistants by the model that the settings name; an exception is raised instead."""

    def __init__(self, **there: Scripted | Exception) -> None:
        self.there = there
        self.hold: threading.Event | None = None

    def load(self, settings: Settings, progress: Progress) -> Any:
        progress(f"Loading {settings.model}.")
        while self.hold is not None and not self.hold.wait(0.01):
            progress("Still loading.")
        found = self.there[settings.model]
        if isinstance(found, Exception):
            raise found
        return found


def test_a_switch_frees_the_old_pair_and_then_loads_the_new_one(started: list[Worker]) -> None:
    old, new = Scripted(), Scripted([rounds("new")], model="New (4-bit)")
    worker = start(Worker(Shelf(builtin=old, new=new).load, Settings()), started)
    worker.switch(replace(worker.settings, model="new", draft="none"))
    switching, loading, ready, switched = take(worker, Switched)
    assert isinstance(switching, Switching)
    assert (switching.model, switching.draft) == ("new", "none")
    assert loading == Loading("Loading new.")
    assert isinstance(ready, Ready)
    assert ready.model == "New (4-bit)"
    assert isinstance(switched, Switched)
    assert not switched.restored
    assert switched.after.process > 0
    assert "now" in switched.sentence
    assert (old.closed, worker.settings.model) == (1, "new")
    worker.answer(ASK)
    assert take(worker, Finished)[-1] == Finished("stop")


def test_a_pair_that_cannot_be_loaded_leaves_the_old_one_loaded_again(started: list[Worker]) -> None:
    shelf = Shelf(builtin=Scripted([rounds("old")]), bad=ModelMissing("There is no bad.", "Look."))
    worker = start(Worker(shelf.load, Settings()), started)
    worker.switch(replace(worker.settings, model="bad"))
    _, _, refused, _, ready, switched = take(worker, Switched)
    assert refused == Refused("There is no bad.", "Look.", 3)
    assert isinstance(ready, Ready)
    assert isinstance(switched, Switched)
    assert switched.restored
    assert worker.settings.model == "builtin"
    worker.answer(ASK)
    assert take(worker, Finished)[-1] == Finished("stop")


def test_if_the_old_one_is_gone_too_there_is_no_model_and_another_switch_may_bring_one(
    started: list[Worker],
) -> None:
    shelf = Shelf(builtin=Scripted(), bad=ModelMissing("There is no bad.", ""))
    worker = start(Worker(shelf.load, Settings()), started)
    shelf.there["builtin"] = ModelMissing("Gone.", "")
    worker.switch(replace(worker.settings, model="bad"))
    assert take(worker, Failed)[-1] == Failed("Gone.", "", 3, loading=True)
    shelf.there["good"] = Scripted()
    worker.switch(replace(worker.settings, model="good"))
    switched = take(worker, Switched)[-1]
    assert isinstance(switched, Switched)
    assert not switched.restored


def test_a_stop_gives_a_load_up_and_the_old_pair_is_back(started: list[Worker]) -> None:
    shelf = Shelf(builtin=Scripted(), slow=Scripted())
    worker = start(Worker(shelf.load, Settings()), started)
    shelf.hold = threading.Event()
    worker.switch(replace(worker.settings, model="slow"))
    take(worker, Loading)
    worker.stop()
    refused = take(worker, Refused)[-1]
    shelf.hold.set()
    assert refused == Refused("Loading was stopped.", "", 130)
    take(worker, Switched)
    assert worker.settings.model == "builtin"


def test_close_ends_a_switch(started: list[Worker]) -> None:
    shelf = Shelf(builtin=Scripted(), slow=Scripted())
    worker = start(Worker(shelf.load, Settings()), started)
    shelf.hold = threading.Event()
    worker.switch(replace(worker.settings, model="slow"))
    take(worker, Loading)
    worker.close()
    assert not worker._thread.is_alive()
    assert not any(isinstance(event, Ready | Failed) for event in worker.drain())


# With tiny models


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> dict[str, Callable[[], Loaded]]:
    """The models that can be loaded, by reference."""
    there = {"builtin": lambda: tiny_loaded(seed=1), "other": lambda: tiny_loaded(seed=2)}

    def load(ref: str, dtype: str | None = None, progress: Progress | None = None) -> Loaded:
        return there[ref]()

    monkeypatch.setattr(models, "load", load)
    return there


SETTINGS = Settings(max_tokens=12, k=3, draft="lookup")


def assistant(settings: Settings = SETTINGS) -> Assistant:
    return Assistant.load(settings, lambda sentence: None)


def answer(assistant: Assistant, messages: list[Message] = ASK) -> list[int]:
    return [token for news in assistant.answer(messages) for token in news.tokens]


def retune(assistant: Assistant, **changes: Any) -> None:
    assistant.retune(replace(SETTINGS, **changes), lambda sentence: None)


@pytest.mark.parametrize("changes", [{"k": 1}, {"k": 0}, {"draft": "self"}, {"draft": "model:other"}])
def test_the_answer_and_the_cache_stay_whatever_drafts(
    changes: dict[str, Any], shelf: dict[str, Callable[[], Loaded]]
) -> None:
    plain = answer(assistant(replace(SETTINGS, draft="none")))
    tuned = assistant()
    assert answer(tuned) == plain
    retune(tuned, **changes)
    assert tuned.metrics.context_used > 0
    assert answer(tuned) == plain
    assert tuned.metrics.reused_tokens == tuned.metrics.prompt_tokens - 1
    tuned.close()


def test_under_strict_exactness_the_rows_are_read_again(shelf: dict[str, Callable[[], Loaded]]) -> None:
    strict = replace(SETTINGS, exactness="strict")
    tuned = assistant(strict)
    answer(tuned)
    tuned.retune(replace(strict, k=2), lambda sentence: None)
    answer(tuned)
    assert tuned.metrics.reused_tokens == 0


def test_a_draft_model_with_another_tokenizer_leaves_all_as_it_was(
    shelf: dict[str, Callable[[], Loaded]],
) -> None:
    def stranger() -> Loaded:
        loaded = tiny_loaded(seed=2)
        loaded.tokenizer._tokenizer.add_tokens(["<another>"])
        return loaded

    shelf["other"] = stranger
    tuned = assistant()
    first = answer(tuned)
    with pytest.raises(PairMismatch):
        retune(tuned, draft="model:other")
    assert tuned.draft == "lookup"
    assert answer(tuned) == first
    assert tuned.metrics.reused_tokens > 0


def test_a_draft_model_is_freed_when_another_source_takes_its_place(
    shelf: dict[str, Callable[[], Loaded]],
) -> None:
    made: list[weakref.ref[Any]] = []

    def other() -> Loaded:
        loaded = tiny_loaded(seed=2)
        made.append(weakref.ref(loaded.model))
        return loaded

    shelf["other"] = other
    tuned = assistant(replace(SETTINGS, draft="model:other"))
    answer(tuned)
    retune(tuned, draft="lookup")
    gc.collect()
    assert made[0]() is None


def test_what_was_learnt_with_a_pair_is_recalled_when_it_comes_back(
    shelf: dict[str, Callable[[], Loaded]], monkeypatch: pytest.MonkeyPatch
) -> None:
    recalled: list[Any] = []
    monkeypatch.setattr(
        Engine, "learnt", lambda engine: {"depths": {}, "controller": {"of": engine.source.name}}
    )
    monkeypatch.setattr(Engine, "recall", lambda engine, depths, controller: recalled.append(controller))
    tuned = assistant()
    for draft in ("self", "lookup", "self"):
        retune(tuned, draft=draft)
    assert recalled == [None, None, {"of": "lookup"}, {"of": "self"}]


def test_the_old_model_is_gone_before_the_new_one_is_loaded(
    shelf: dict[str, Callable[[], Loaded]], started: list[Worker]
) -> None:
    made: list[weakref.ref[Any]] = []
    alive: list[bool] = []

    def builtin() -> Loaded:
        loaded = tiny_loaded(seed=1)
        made.append(weakref.ref(loaded.model))
        return loaded

    def other() -> Loaded:
        alive.append(made[0]() is not None)
        return tiny_loaded(seed=2)

    shelf |= {"builtin": builtin, "other": other}
    worker = start(Worker(Assistant.load, SETTINGS), started)
    worker.answer(ASK)
    take(worker, Finished)
    worker.switch(replace(worker.settings, model="other"))
    switched = take(worker, Switched)[-1]
    assert isinstance(switched, Switched)
    assert alive == [False]
    assert switched.freed.active < switched.before.active
    worker.answer(ASK)
    assert take(worker, Finished)[-1] == Finished("length")
