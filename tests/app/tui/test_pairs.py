"""Other pairs, another K: chosen on the screen, and the chat stays."""

from __future__ import annotations

import io
from contextlib import nullcontext

import pytest
from driver import chat
from screenplay import Scripted, rounds

from app.tui.sheets.models import Models
from mlx_spec.errors import SpecError


async def test_another_k_and_source_from_the_next_answer_on() -> None:
    assistant = Scripted([rounds("One.")], draft="lookup")
    async with chat(assistant) as driver:
        await driver.ask("/k 4")
        await driver.see("K 4, draft auto.")
        await driver.ask("/draft none")
        await driver.see("draft: none")
        await driver.ask("/spec off")
        await driver.until(lambda: len(assistant.retuned) == 3)
        await driver.ask("/k")
        await driver.see("K is 0.")
        await driver.ask("/k many")
        await driver.see("/k")
        assert driver.prompt.text == "/k many"
    assert assistant.retuned == [(4, "auto"), (4, "none"), (0, "none")]


async def test_a_source_that_does_not_fit_is_refused_with_the_reason() -> None:
    assistant = Scripted(unfit={"model:nope": SpecError("nope has another vocabulary.", "Try lookup.")})
    async with chat(assistant) as driver:
        await driver.ask("/draft model:nope")
        await driver.see("▲ nope has another vocabulary.", "Try lookup.", "draft: lookup")


async def test_another_model_is_loaded_and_the_chat_stays() -> None:
    assistant = Scripted([rounds("One."), rounds("Two.")])
    async with chat(assistant) as driver:
        await driver.ask("first")
        await driver.see("One.", "○ ready")
        await driver.ask("/model other")
        await driver.until(lambda: driver.app.desk.worker.settings.model == "other")
        await driver.see("Memory of the models:", "○ ready")
        await driver.ask("second")
        await driver.see("Two.", "○ ready")
    assert [message.content for message in assistant.asked[1]] == ["first", "One.", "second"]


async def test_the_list_of_models_opens_and_closes() -> None:
    async with chat(Scripted()) as driver:
        await driver.ask("/model")
        await driver.until(lambda: isinstance(driver.app.screen, Models))
        await driver.pilot.press("escape")
        await driver.until(lambda: len(driver.app.screen_stack) == 1)


async def test_a_model_that_is_not_here_is_shown_before_anything_is_downloaded() -> None:
    async with chat(Scripted()) as driver:
        await driver.ask("/model org/elsewhere")
        await driver.until(lambda: isinstance(driver.app.screen, Models))
        await driver.see("org/elsewhere")
        assert driver.app.stock.pull is None


async def test_models_and_sources_that_are_here_complete_what_is_written() -> None:
    async with chat(Scripted()) as driver:
        sources = driver.prompt.sources
        await driver.until(lambda: sources["REF"]("buil") == ["builtin"])
        assert sources["SOURCE"]("model:") == ["model:builtin"]
        assert sources["SOURCE"]("lo") == ["lookup"]


async def test_a_better_pair_is_told_of_below_an_answer_and_once() -> None:
    assistant = Scripted([rounds("One", "."), rounds("Two", ".")])
    assistant.metrics.target_bytes = 10**10
    async with chat(assistant, first=True) as driver:
        driver.app.stock.memory = 16e9
        await driver.ask("first")
        await driver.see("One.", "holds a better", "/model shows", "○ ready")
        assert len(driver.app.screen_stack) == 1, "and nothing waits for an answer to that"
        await driver.ask("/new")
        await driver.ask("second")
        await driver.see("Two.", "○ ready")
        assert "better" not in driver.screen


async def test_why_timeline_rounds_and_help_open_from_their_keys() -> None:
    async with chat(Scripted([rounds("One.")])) as driver:
        await driver.ask("first")
        await driver.see("One.", "○ ready")
        await driver.pilot.press("f8")
        await driver.see("It is off: every step is plain decoding's.")
        for key in ("f1", "f6", "f7", "ctrl+p", "ctrl+o"):
            await driver.pilot.press(key)
            await driver.until(lambda: len(driver.app.screen_stack) == 2)
            await driver.pilot.press("escape")
            await driver.until(lambda: len(driver.app.screen_stack) == 1)


async def test_a_command_from_the_palette_runs_or_waits_for_its_argument() -> None:
    async with chat(Scripted([rounds("One.")])) as driver:
        await driver.pilot.press("ctrl+p", *"rename", "enter")
        await driver.until(lambda: driver.prompt.text == "/rename ")
        driver.prompt.clear()
        await driver.pilot.press("ctrl+p", *"undo", "enter")
        await driver.see("There is nothing to")


async def test_a_benchmark_gets_terminal_and_memory_and_the_chat_comes_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assistant = Scripted([rounds("One."), rounds("Two.")])
    async with chat(assistant) as driver:
        ran: list[tuple[str, ...]] = []

        def run(argv: tuple[str, ...], env: dict[str, str]) -> int:
            assert assistant.closed == 1, "two models at once would need the memory twice"
            ran.append(argv)
            return 0

        monkeypatch.setattr(driver.app, "suspend", nullcontext)
        monkeypatch.setattr("app.desk.handover.subprocess.call", run)
        monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
        await driver.ask("first")
        await driver.see("One.", "○ ready")
        await driver.ask("/bench")
        await driver.until(lambda: bool(ran))
        await driver.ask("second")
        await driver.see("One.", "Two.", "○ ready")
    assert ran[0][4:6] == ("bench", "--quick")
    assert [message.content for message in assistant.asked[1]] == ["first", "One.", "second"]


async def test_what_was_being_written_when_the_palette_writes_can_be_recalled() -> None:
    async with chat(Scripted([rounds("One.")])) as driver:
        await driver.ask("Alpha")
        await driver.see("One.", "○ ready")
        for letters, written in (("edit", "Alpha"), ("renam", "/rename ")):
            driver.prompt.load_text("a draft")
            await driver.pilot.press("ctrl+p", *letters, "enter")
            await driver.until(lambda written=written: driver.prompt.text == written)  # type: ignore[misc]
            await driver.pilot.press("escape", "up")
            if driver.prompt.text == "Alpha":  # of the edit that was left
                await driver.pilot.press("up")
            assert driver.prompt.text == "a draft"


async def test_a_benchmark_that_cannot_be_started_leaves_the_chat_its_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assistant = Scripted([rounds("One.")])

    def refuse(argv: tuple[str, ...], env: dict[str, str]) -> int:
        raise OSError(12, "Cannot allocate memory")

    async with chat(assistant) as driver:
        monkeypatch.setattr(driver.app, "suspend", nullcontext)
        monkeypatch.setattr("app.desk.handover.subprocess.call", refuse)
        monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
        await driver.see("○ ready")
        await driver.ask("/bench")
        await driver.until(lambda: assistant.closed == 1)
        await driver.ask("first")
        await driver.see("One.", "○ ready")
