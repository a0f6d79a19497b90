"""From a repository's name to an answer with it: looked up, fetched, paired, switched to, in one process."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hub_server import Hub, serve
from tiny import save_tiny, tiny_config, tiny_loaded

from app.assistant.assistant import Assistant
from app.assistant.template import Message
from app.settings.settings import Settings
from app.thread.events import Event, Failed, Finished, Ready, Refused, Retuned, Switched
from app.thread.worker import Worker
from models.stock import Stock

TARGET, DRAFT = "someone/target", "someone/draft"
ASK = [Message("user", "Hello you")]


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    folders = {
        name: save_tiny(tmp_path / name, tiny_loaded(layers=layers, seed=layers), tiny_config(layers=layers))
        for name, layers in ((TARGET, 4), (DRAFT, 1))
    }
    with serve(folders) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        yield hub


def take(worker: Worker, last: type[Event]) -> Event:
    """The first event of a kind."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if worker.events and isinstance(event := worker.events.popleft(), last):
            return event
        time.sleep(0.002)
    raise AssertionError(last)


def test_a_pair_is_fetched_and_takes_the_place_of_another(hub: Hub, tmp_path: Path) -> None:
    first = save_tiny(tmp_path / "first", tiny_loaded(), tiny_config())
    stock = Stock(named=lambda: [str(first)], memory=16e9)
    worker = Worker(Assistant.load, Settings(model=str(first), draft="lookup", k=3, max_tokens=6))
    worker.start()
    try:
        take(worker, Ready)
        assert stock.prospect(TARGET).problem == ""
        pull = stock.fetch(TARGET, DRAFT)
        worker.answer(ASK)  # meanwhile the chat goes on
        take(worker, Finished)
        while pull.active:
            time.sleep(0.01)
        assert pull.progress.state == "done"

        here = {model.ref: model for model in stock.installed()}
        fit = [source.draft for source in stock.sources(here[TARGET], here.values()) if not source.reason]
        assert f"model:{DRAFT}" in fit
        worker.switch(replace(worker.settings, model=TARGET, draft=f"model:{DRAFT}"))
        switched = take(worker, Switched)
        assert isinstance(switched, Switched)
        assert switched.freed.active < min(switched.before.active, switched.after.active)
        worker.answer(ASK)
        take(worker, Finished)
        worker.retune(draft=f"model:{first}")
        assert isinstance(take(worker, Retuned), Retuned)
        worker.switch(replace(worker.settings, model="someone/nobody-has-this"))
        refused = take(worker, Refused)
        assert isinstance(refused, Refused)
        assert "no repository" in refused.message
        back = take(worker, Switched)
        assert isinstance(back, Switched)
        assert back.restored
        worker.answer(ASK)
        take(worker, Finished)
    finally:
        worker.close()
        stock.close()
    assert not any(isinstance(event, Failed) for event in worker.drain())
