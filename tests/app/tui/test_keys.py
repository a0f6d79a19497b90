"""The keyboard: typing and pasting, stopping, copying, quitting, as a person does, and signals."""

from __future__ import annotations

import signal
import threading

import pytest
from driver import chat
from screenplay import Scripted, rounds
from textual import events
from textual.selection import Selection

from app.tui.status import State
from app.tui.transcript.transcript import Transcript


async def test_enter_sends_and_other_keys_break_the_line() -> None:
    assistant = Scripted([rounds("ok")])
    async with chat(assistant) as driver:
        await driver.pilot.press("a", "ctrl+j", "b", "shift+enter", "c")
        assert driver.prompt.text == "a\nb\nc"
        assert driver.prompt.size.height == 3
        await driver.pilot.press("enter")
        await driver.see("ok")
        assert driver.prompt.text == ""
    assert assistant.asked[0][-1].content == "a\nb\nc"


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n"])
async def test_a_paste_keeps_its_lines_however_they_end(end: str) -> None:
    async with chat(Scripted()) as driver:
        driver.app.post_message(events.Paste(f"one{end}two"))
        await driver.until(lambda: driver.prompt.text == "one\ntwo")


async def test_control_codes_in_a_paste_are_shown_and_not_obeyed() -> None:
    assistant = Scripted([rounds("x")])
    async with chat(assistant) as driver:
        driver.app.post_message(events.Paste("a\x9b31mb\x07c"))
        await driver.see("a\\x9b31mb␇c")
        await driver.pilot.press("enter")
        await driver.until(lambda: bool(assistant.asked))
    assert assistant.asked[0][0].content == "a\\x9b31mb␇c"  # what was seen is what was sent


async def test_the_prompt_box_grows_to_eight_lines_and_no_further() -> None:
    async with chat(Scripted()) as driver:
        driver.prompt.load_text("\n".join("x" * 20))
        await driver.until(lambda: driver.prompt.size.height == 8)


async def test_blank_prompts_are_not_sent() -> None:
    assistant = Scripted()
    async with chat(assistant) as driver:
        await driver.ask(" \n ")
        await driver.pilot.pause(0.2)
        assert assistant.asked == []


async def test_esc_is_answered_at_once_even_if_the_engine_is_slow() -> None:
    async with chat(Scripted([rounds("x", "y", "z")], pace=1.0)) as driver:
        await driver.ask("Go.")
        await driver.see("◐ reading prompt")
        await driver.pilot.press("escape")
        await driver.pilot.pause()
        assert "■ stopping" in driver.screen
        await driver.see("■ stopped")
        await driver.until(lambda: "■ stopping" not in driver.screen)


async def test_esc_with_nothing_running_does_nothing() -> None:
    async with chat(Scripted([rounds("ok")])) as driver:
        driver.prompt.load_text("kept")
        await driver.pilot.press("escape")
        assert driver.prompt.text == "kept"
        assert driver.prompt.has_focus
        assert driver.state is State.READY


async def test_ctrl_c_stops_then_asks_then_quits() -> None:
    assistant = Scripted([rounds(*"x" * 1000)], pace=0.01)
    async with chat(assistant) as driver:
        await driver.ask("Go.")
        await driver.see("● generating")
        await driver.pilot.press("ctrl+c")
        await driver.see("■ stopped")
        await driver.pilot.press("ctrl+c")
        await driver.see("Press Ctrl+C again to quit.")
        await driver.pilot.press("ctrl+c")
        await driver.pilot.pause()
    assert driver.app.return_value == 0


async def test_ctrl_c_copies_a_selection_and_says_what_happened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.desk.clipboard.shutil.which", lambda _: None)
    async with chat(Scripted([rounds("Some words to copy, ", "`code` too.")])) as driver:
        await driver.ask("Go.")
        await driver.see("to copy", "○ ready")
        await driver.pilot.mouse_down(Transcript, offset=(7, 3))
        await driver.pilot.hover(Transcript, offset=(19, 3))
        await driver.pilot.mouse_up(Transcript, offset=(19, 3))
        await driver.pilot.press("ctrl+c")
        await driver.see("Sent 13 characters to the terminal's")
        assert driver.app.clipboard == "words to copy"


async def test_a_copy_of_code_has_no_margin_and_no_breaks_of_the_screen() -> None:
    long = "value = " + " + ".join(["1"] * 40)
    async with chat(Scripted([rounds(f"```python\ndef f():\n    {long}\n```\n")])) as driver:
        await driver.ask("Go.")
        await driver.see("def f", "○ ready")
        copied = driver.transcript.get_selection(Selection(None, None))
        assert copied == (f"Go.\n\ndef f():\n    {long}", "\n")


@pytest.mark.parametrize("key", ["ctrl+q", "ctrl+d"])
async def test_quitting_while_the_model_loads(key: str) -> None:
    async with chat(Scripted(), hold=threading.Event()) as driver:
        await driver.see("◌ loading")
        await driver.pilot.press(key)
    assert driver.app.return_value == 0


@pytest.mark.parametrize("key", ["ctrl+q", "ctrl+d"])
async def test_quitting_while_an_answer_runs(key: str) -> None:
    assistant = Scripted([rounds(*"x" * 1000)], pace=0.01)
    async with chat(assistant) as driver:
        await driver.ask("Go.")
        await driver.see("● generating")
        await driver.pilot.press(key)
    assert driver.app.return_value == 0
    assert assistant.closed == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_ends_it_with_the_code_that_stands_for_the_signal(number: signal.Signals) -> None:
    async with chat(Scripted()) as driver:
        signal.raise_signal(number)
        await driver.until(lambda: driver.app.return_value is not None)
    assert driver.app.return_value == 128 + number
