"""Questions that are sent while an answer runs wait for their turn."""

from __future__ import annotations

import threading

from driver import chat
from screenplay import Scripted, rounds

from mlx_spec.errors import SpecError


async def test_questions_wait_in_order_and_are_asked_one_after_the_other() -> None:
    assistant = Scripted([rounds("One."), rounds("Two."), rounds("Three.")])
    assistant.going.clear()
    async with chat(assistant) as driver:
        for question in ("first", "second", "third"):
            await driver.ask(question)
        await driver.see("◌ waits: second", "◌ waits: third")
        assert driver.prompt.text == ""
        assistant.going.set()
        await driver.see("Three.", "○ ready")
        assert "waits:" not in driver.screen
    assert [message.content for message in assistant.asked[2]] == ["first", "One.", "second", "Two.", "third"]


async def test_stop_ends_the_answer_though_questions_wait_and_the_next_one_is_asked() -> None:
    assistant = Scripted([rounds("a ", *"b" * 500), rounds("Two.")], pace=0.02)
    async with chat(assistant) as driver:
        await driver.ask("first")
        await driver.see("● generating")
        await driver.ask("second")
        await driver.see("◌ waits: second")
        await driver.ask("/stop")
        await driver.see("■ stopped", "Two.", "○ ready")
        assert driver.prompt.text == ""
        await driver.ask("/stop")
        await driver.see("No answer runs.")
        assert driver.prompt.text == "/stop"


async def test_esc_takes_waiting_questions_back_the_latest_first_and_then_stops() -> None:
    assistant = Scripted([rounds("a ", *"b" * 200)], pace=0.02)
    async with chat(assistant) as driver:
        await driver.ask("first")
        await driver.see("● generating")
        await driver.ask("second")
        await driver.ask("third")
        await driver.see("◌ waits: third")
        await driver.pilot.press("escape")
        assert driver.prompt.text == "third"
        await driver.pilot.press("escape")
        assert driver.prompt.text == "second\n\nthird"
        await driver.pilot.press("escape")
        await driver.see("■ stopped")
    assert len(assistant.asked) == 1


async def test_several_wait_for_the_model_too() -> None:
    hold = threading.Event()
    assistant = Scripted([rounds("One."), rounds("Two.")])
    async with chat(assistant, hold=hold) as driver:
        await driver.see("◌ loading")
        await driver.ask("first")
        await driver.ask("second")
        await driver.see("Your prompt waits until the model is loaded.", "◌ waits: second")
        hold.set()
        await driver.see("One.", "Two.", "○ ready")


async def test_a_failure_gives_back_all_that_nobody_answered() -> None:
    assistant = Scripted([SpecError("No.", "")])
    assistant.going.clear()
    async with chat(assistant) as driver:
        await driver.ask("first")
        await driver.ask("second")
        await driver.see("◌ waits: second")
        assistant.going.set()
        await driver.see("▲ No.")
        assert driver.prompt.text == "first\n\nsecond"
        assert "waits:" not in driver.screen
