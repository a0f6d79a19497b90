"""Thinking on the screen: folded to one line, and told apart from the answer."""

from __future__ import annotations

from driver import chat
from screenplay import Scripted, rounds
from textual.selection import Selection

from app.assistant.template import Message
from app.thinking import Markers
from app.tui.transcript.transcript import Transcript

THOUGHT = ("<think>", "\nWell, [b]hm[/b]", ".</th", "ink>", "\n\n", "Yes.")


async def test_thinking_is_folded_to_one_line_that_a_key_or_a_click_unfolds() -> None:
    """Case c28, on the screen."""
    assistant = Scripted([rounds(*THOUGHT), rounds("Again.")])
    async with chat(assistant) as driver:
        await driver.ask("Go.")
        await driver.see("▸ thought for 4 tokens · F5 unfolds", "Yes.", "○ ready")
        assert "Well" not in driver.screen
        assert "think>" not in driver.screen
        await driver.pilot.press("f5")
        await driver.see("▾ thought for 4 tokens · F5 folds", "Well, [b]hm[/b].", "▴ end of the thinking")
        await driver.pilot.press("f5")
        await driver.until(lambda: "Well" not in driver.screen)
        await driver.pilot.click(Transcript, offset=(5, 3))
        await driver.see("Well, [b]hm[/b].")
        await driver.pilot.click(Transcript, offset=(5, 3))
        await driver.until(lambda: "Well" not in driver.screen)
        assert driver.transcript.get_selection(Selection(None, None)) == ("Go.\n\nYes.", "\n")
        await driver.ask("And?")
        await driver.see("Again.")
    assert assistant.asked[1][1] == Message("assistant", "".join(THOUGHT)), "the template strips it itself"


async def test_thinking_that_goes_on_is_counted_and_an_unclosed_end_is_told() -> None:
    assistant = Scripted([rounds("Well", ", hm", ".")], pace=0.3, markers=Markers(opener="<think>\n"))
    async with chat(assistant) as driver:
        await driver.ask("Go.")
        await driver.see("▸ thinking, 1 token so far")
        await driver.see("▸ thought for 3 tokens, and had not finished", "○ ready")
        assert driver.app.desk.conversation.path[1].text == "<think>\nWell, hm."


async def test_a_copy_leaves_out_the_thought_that_the_prompt_had_opened() -> None:
    """Case c28: the answer's own text begins in the midst of its thought."""
    said = ("Well, ", "hm.\n", "</think>", "\n\n", "Yes.\n\n```\ncode\n```")
    async with chat(Scripted([rounds(*said)], markers=Markers(opener="<think>\n"))) as driver:
        copied: list[str] = []
        driver.app.copy_to_clipboard = copied.append  # type: ignore[method-assign]
        await driver.ask("Go.")
        await driver.see("▸ thought for", "Yes.", "○ ready")
        await driver.ask("/copy")
        await driver.until(lambda: copied == ["Yes.\n\n```\ncode\n```"])
        await driver.ask("/copy code")
        await driver.until(lambda: copied[1:] == ["code"])
