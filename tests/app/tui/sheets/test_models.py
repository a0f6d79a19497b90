"""The models on the screen: targets, draft sources with reasons, and a download that pauses."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from showing import Person, showing

from app.settings.settings import Settings
from app.tui.sheets.models import Models, Pick
from models import stock
from models.errors import ModelError, ModelMissing
from models.installed import Installed
from models.need import need
from models.offer import Offer, offer
from models.prospect import Prospect
from models.pull import Progress, Pull
from models.size import Size
from models.sources import Source
from models.storage import Storage

GB = 1e9
FOUR_BIT = Storage("affine", "4-bit", 4.5)
TINY = (20, 8)


def model(name: str, gigabytes: float, **rest: Any) -> Installed:
    size = Size(name, gigabytes * GB, gigabytes * GB, FOUR_BIT, "by its files", kv_bytes=57344)
    return Installed(f"org/{name}", name, "hub", Path(f"/models/{name}"), size, "qwen2", 32768, **rest)


class Download(Pull):
    """A download that goes where the test says."""

    progress: Any = None

    def __init__(self, *refs: str) -> None:
        self.refs = refs
        self.progress = Progress("asking", refs[0])
        self.asked: list[str] = []

    def start(self) -> None:
        self.asked.append("start")

    def pause(self) -> None:
        self.asked.append("pause")


class Stock(stock.Stock):
    """Models in memory."""

    def __init__(self) -> None:
        super().__init__(memory=16 * GB)
        self.here = [model("Big-7B", 4.3), model("Small-0.5B", 0.3), model("Other-1B", 0.7)]
        self.here[2:] = [model("Broken", 1, problem="Its weights are damaged."), *self.here[2:]]
        self.offered: list[Offer] = []
        self.unreachable = False

    def installed(self) -> list[Installed]:
        return list(self.here)

    def sources(self, target: Installed, models: Iterable[Installed]) -> list[Source]:
        pair = [each.size for each in self.here[:2] if each.size]
        reason = "Its tokens are others: id 5 is 'a' in the target and 'b' in the draft."
        return [
            Source("lookup", "lookup", "Copies from the text so far."),
            Source("model:org/Small-0.5B", "Small-0.5B", "A draft model of 300 MB (4-bit).", "", need(pair)),
            Source("none", "none", "Plain decoding."),
            Source("model:org/Other-1B", "Other-1B", "", reason),
        ]

    def offers(self) -> list[Offer]:
        return self.offered

    def prospect(self, ref: str) -> Prospect:
        if self.unreachable:
            raise ModelMissing(f"{ref} is not on this machine and the hub cannot be reached.", "Try again.")
        return Prospect(ref, int(2 * GB), self.here[0].size)

    def fetch(self, *refs: str) -> Any:
        if self.pull is not None and self.pull.refs != refs:
            raise ModelError(f"{self.pull.refs[0]} is being downloaded.", "Pause it first.")
        self.pull = self.pull or Download(*refs)
        self.pull.start()
        return self.pull


async def until(person: Person, found: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if found():
            return
        await person.pilot.pause(0.01)
    raise AssertionError(person.screen)


async def shows(person: Person, text: str) -> None:
    """Wait until the screen shows `text`, however its lines are broken."""
    await until(person, lambda: "".join(text.split()) in _plain(person))


def _plain(person: Person) -> str:
    return "".join(person.screen.replace("│", "").split())


@pytest.fixture(name="stock")
def models_in_memory() -> Stock:
    return Stock()


def models(stock: Stock) -> Models:
    return Models(stock, Settings(model="org/Big-7B", draft="auto"))


async def test_a_target_and_then_a_source_are_the_pick(stock: Stock) -> None:
    async with showing() as person:
        await person.open(models(stock))
        await shows(person, "Big-7B")
        assert "in use  4.3 GB" in person.screen
        await shows(person, "Model org/Big-7B fits: needs 4.8 GB of 16.0 GB")
        await person.press("enter")
        await shows(person, "Draft source for Big-7B")
        await shows(person, "Small-0.5B")
        await person.press("down")
        await shows(person, "A draft model of 300 MB (4-bit). It fits: needs 5.")
        await person.press("enter")
        assert person.app.results == [Pick("org/Big-7B", "model:org/Small-0.5B")]


async def test_a_source_that_does_not_fit_shows_its_reason_and_is_not_chosen(stock: Stock) -> None:
    async with showing() as person:
        await person.open(models(stock))
        await shows(person, "Big-7B")
        await person.press("enter")
        await shows(person, "Cannot draft for it")
        await person.press("up")
        await shows(person, "Its tokens are others: id 5 is 'a' in the target and 'b' in the draft.")
        await person.press("enter")
        await shows(person, "› Back")
        assert person.app.results == []
        await person.press("enter", "escape")
        await shows(person, "Find, or org/name")
        await person.press("escape")
        assert person.app.results == [None]


async def test_a_folder_that_cannot_be_loaded_says_why(stock: Stock) -> None:
    stock.here = [Installed("/models/odd", "odd", "folder", problem="It asks to run code.")]
    async with showing() as person:
        await person.open(models(stock))
        await shows(person, "/models/odd. It asks to run code.")
        await person.press("enter")
        await shows(person, "It asks to run code.")
        assert person.app.results == []


async def test_a_damaged_model_of_the_hub_can_be_fetched_again(stock: Stock) -> None:
    async with showing() as person:
        await person.open(models(stock))
        await shows(person, "Broken")
        await person.type("broken")
        await person.press("enter")
        await shows(person, "Its weights are damaged.\n 2.0 GB to download.")
        await person.press("enter")
        await until(person, lambda: stock.pull is not None)
        assert stock.pull.refs == ("org/Broken",)


async def test_a_repository_is_asked_for_shown_with_its_need_and_only_then_downloaded(stock: Stock) -> None:
    async with showing() as person:
        await person.open(models(stock))
        await shows(person, "Big-7B")
        await person.type("org/new-model")
        await shows(person, "Look up org/new-model")
        await person.press("enter")
        await shows(person, "2.0 GB to download.")
        await shows(person, "It fits: needs 4.8 GB of 16.0 GB")
        assert stock.pull is None
        await person.press("down", "enter")
        assert stock.pull is None, "not now"
        await person.press("enter")
        await shows(person, "2.0 GB to download.")
        await person.press("enter")
        await until(person, lambda: stock.pull is not None)
        assert stock.pull.refs == ("org/new-model",)
        await shows(person, "↓ new-model")


async def test_a_hub_that_cannot_be_reached_is_a_sentence(stock: Stock) -> None:
    stock.unreachable = True
    async with showing() as person:
        await person.open(models(stock))
        await shows(person, "Big-7B")
        await person.type("org/new-model")
        await person.press("enter")
        await shows(person, "the hub cannot be reached")


async def test_a_download_is_paused_and_resumed_by_enter_and_ends_in_the_list(stock: Stock) -> None:
    stock.pull = Download("org/new-model")
    stock.pull.progress = Progress("running", "org/new-model", int(1 * GB), int(4 * GB), 10e6)
    part = Installed("org/new-model", "new-model", "hub", part=5, problem="Its download is not finished.")
    stock.here.append(part)
    async with showing() as person:
        await person.open(models(stock))
        await shows(person, "25% of 4.0 GB · 10.0 MB/s · 5 min left")
        assert "not finished" not in person.screen
        await person.press("enter")
        assert stock.pull.asked == ["pause"]
        stock.pull.progress = Progress("paused", "org/new-model", int(1 * GB), int(4 * GB))
        await shows(person, "25% of 4.0 GB · paused")
        await shows(person, "Enter resumes it.")
        await person.press("enter")
        assert stock.pull.asked == ["pause", "start"]
        stock.here[-1] = model("new-model", 4)
        stock.pull.progress = Progress("done", "org/new-model", int(4 * GB), int(4 * GB))
        await shows(person, "Downloaded: org/new-model. Choose it in the list.")
        await until(person, lambda: "↓" not in person.screen and "new-model" in person.screen)


async def test_a_download_that_fails_says_why_and_what_to_do(stock: Stock) -> None:
    stock.pull = Download("org/new-model")
    stock.pull.progress = Progress("failed", "org/new-model", 0, 0, None, "The disk is full.", "Free some.")
    async with showing() as person:
        await person.open(models(stock))
        await shows(person, "The disk is full. Free some. Enter resumes it.")


async def test_an_unfinished_download_is_looked_up_and_goes_on(stock: Stock) -> None:
    stock.here = [Installed("org/half", "half", "hub", part=int(GB), problem="Its download is not finished.")]
    async with showing() as person:
        await person.open(models(stock))
        await shows(person, "1.0 GB")
        await person.press("enter")
        await shows(person, "2.0 GB to download.")


async def test_pairs_that_are_not_here_are_offered(stock: Stock) -> None:
    stock.offered = offer(16 * GB)[:1]
    async with showing() as person:
        await person.open(models(stock))
        await shows(person, "Pairs for 16.0 GB of memory")
        await person.press("up")
        await shows(person, "Qwen2.5 7B answers, Qwen2.5 0.5B drafts: 4.6 GB to download.")
        await person.press("enter")
        await shows(person, "Licences: apache-2.0.")
        await person.press("enter")
        await until(person, lambda: stock.pull is not None)
        assert stock.pull.refs == stock.offered[0].refs


async def test_without_colour_the_choice_shows(stock: Stock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with showing() as person:
        await person.open(models(stock))
        await shows(person, "› Big-7B")


async def test_it_works_on_a_tiny_screen(stock: Stock) -> None:
    async with showing(size=TINY) as person:
        await person.open(models(stock))
        await shows(person, "Big-7B")
        await person.press("enter")
        await shows(person, "lookup")
        await person.press("up")
        await person.press("enter")
        await shows(person, "Its tokens are others: id 5 is 'a' in the target and 'b' in the draft.")
        await person.press("escape", "down", "enter")
        assert person.app.results == [Pick("org/Big-7B", "lookup")]


async def test_names_out_of_files_are_no_control_codes(stock: Stock) -> None:
    stock.here = [model("evil\x1b[31m[bold]", 1)]
    async with showing() as person:
        await person.open(models(stock))
        await shows(person, "evil␛[31m[bold]")
