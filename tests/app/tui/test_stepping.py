"""Keys that move within the transcript: to its end, from message to message, sideways over wide code."""

from __future__ import annotations

from driver import chat
from screenplay import Scripted, rounds

WIDE = "```\n" + "0123456789" * 20 + "\n```\n"


async def test_keys_step_through_messages_and_copy_takes_the_one_stepped_to() -> None:
    async with chat(Scripted([rounds("One."), rounds(WIDE)])) as driver:
        for question, seen in (("first", "One."), ("second", "0123456789")):
            await driver.ask(question)
            await driver.see(seen, "○ ready")
        await driver.pilot.press("alt+up")
        assert driver.transcript.current is driver.transcript.messages[-1]
        await driver.pilot.press("alt+right")
        await driver.see("‹ 89")
        await driver.pilot.press("alt+left", "alt+up", "alt+up")
        await driver.see("▎ One.")
        copied: list[str] = []
        driver.app.copy_to_clipboard = copied.append  # type: ignore[method-assign]
        await driver.ask("/copy")
        await driver.until(lambda: copied == ["One."])
        await driver.pilot.press("escape")
        await driver.until(lambda: driver.transcript.current is None)
        await driver.ask("/copy code")
        await driver.until(lambda: copied[-1] == "0123456789" * 20)


async def test_a_key_leads_back_to_the_end() -> None:
    async with chat(Scripted([rounds("line\n" * 60)])) as driver:
        await driver.ask("Go.")
        await driver.see("○ ready", "line")
        await driver.pilot.press("pageup", "pageup")
        await driver.see("▼ end")
        await driver.pilot.press("ctrl+end")
        await driver.until(lambda: driver.transcript.following)
        assert "▼ end" not in driver.screen


async def test_the_inspector_begins_at_the_answer_stepped_to() -> None:
    async with chat(Scripted([rounds("One."), rounds("Two."), rounds("Three.")])) as driver:
        for question, seen in (("first", "One."), ("second", "Two."), ("third", "Three.")):
            await driver.ask(question)
            await driver.see(seen, "○ ready")
        await driver.pilot.press("f6")
        await driver.see("Answer 3, step 1")
        await driver.pilot.press("escape", "alt+up", "alt+up", "alt+up", "f6")
        await driver.see("Answer 2, step 1")
