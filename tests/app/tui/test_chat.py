"""The chat screen, driven as a person drives it, over a scripted assistant."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from driver import chat
from screenplay import PAYING, Scripted, desk_for, rounds, speculative, worker_for

from app.assistant.template import Message
from app.thread.events import Failed, Ready
from app.tui.app import Chat
from app.tui.status import State
from app.tui.transcript.transcript import Transcript
from mlx_spec.errors import PromptTooLong, SpecError
from mlx_spec.events import Round
from mlx_spec.metrics import Metrics
from mlx_spec.verdict.diagnose import Verdict

LONG = [f"line {i}\n\n" for i in range(60)]


async def test_ask_watch_it_stream_stop_ask_again_quit() -> None:
    assistant = Scripted([rounds(*(f"word{i} " for i in range(500))), rounds("Second answer.")], pace=0.01)
    async with chat(assistant) as driver:
        await driver.ask("First?")
        await driver.see("● generating", "word1 ")
        await driver.pilot.press("escape")
        await driver.see("■ stopped")
        await driver.ask("Second?")
        await driver.see("Second answer.", "○ ready")
        await driver.pilot.press("ctrl+q")
    assert driver.app.return_value == 0
    first, second = assistant.asked
    assert first == [Message("user", "First?")]
    assert [message.role for message in second] == ["user", "assistant", "user"]
    assert second[1].content.startswith("word0 word1 ")  # the partial answer stays in the history


async def test_the_first_frame_shows_and_typing_works_before_the_model_is_loaded() -> None:
    hold = threading.Event()
    async with chat(Scripted([rounds("Hello.")]), hold=hold) as driver:
        await driver.see("◌ loading", "Still reading.")
        await driver.pilot.press("H", "i")
        assert driver.prompt.text == "Hi"
        await driver.pilot.press("enter")
        await driver.see("Your prompt waits until the model is loaded.")
        hold.set()
        await driver.see("Hello.", "○ ready", "SmolLM2-135M-Instruct (4-bit)")
        assert "Your prompt waits" not in driver.screen


async def test_esc_takes_a_waiting_prompt_back() -> None:
    async with chat(Scripted(), hold=threading.Event()) as driver:
        await driver.see("◌ loading")
        await driver.ask("Hasty")
        await driver.see("Your prompt waits")
        await driver.pilot.press("escape")
        await driver.until(lambda: driver.prompt.text == "Hasty")
        assert "Your prompt waits" not in driver.screen


async def test_esc_before_the_first_word_takes_the_prompt_back() -> None:
    assistant = Scripted([rounds("Never said."), rounds("Second answer.")])
    assistant.going.clear()
    async with chat(assistant) as driver:
        await driver.ask("First?")
        await driver.see("◐ reading prompt")
        await driver.pilot.press("h", "m")
        await driver.pilot.press("escape")
        await driver.until(lambda: driver.prompt.text == "First?\n\nhm")
        await driver.see("■ stopped")
        assert not driver.transcript.messages, "the transcript shows what the model is told"
        assistant.going.set()
        await driver.ask("Second?")
        await driver.see("Second answer.")
    assert assistant.asked[-1] == [Message("user", "Second?")]


async def test_the_status_names_reading_the_prompt() -> None:
    assistant = Scripted([rounds("x")])
    assistant.going.clear()
    async with chat(assistant) as driver:
        await driver.ask("Read this.")
        await driver.see("◐ reading prompt")
        assistant.going.set()
        await driver.see("○ ready")


async def test_the_status_says_how_far_a_long_prompt_is_read_and_typing_goes_on() -> None:
    assistant = Scripted([rounds("x")], prefill=[(1024, 6000)])
    assistant.going.clear()
    async with chat(assistant) as driver:
        await driver.ask("Read this.")
        await driver.see("◐ reading prompt 1,024/6,000")
        await driver.pilot.press("y", "o")
        assert driver.prompt.text == "yo"
        await driver.pilot.press("escape")
        await driver.see("■ stopped")
        assert "1,024" not in driver.screen


async def test_what_the_user_must_see_of_a_prompt_stands_before_its_answer() -> None:
    async with chat(
        Scripted([rounds("Fine.")], notices=["The model no longer sees [2] messages."])
    ) as driver:
        await driver.ask("Go.")
        await driver.see("! The model no longer sees [2] messages.", "Fine.")
        assert driver.screen.index("no longer") < driver.screen.index("Fine.")


async def test_a_prompt_that_no_longer_fits_offers_both_choices_and_loses_nothing() -> None:
    too_long = PromptTooLong("The prompt has 9,000 tokens.", "Shorten it.")
    assistant = Scripted([rounds("One."), too_long, rounds("Two."), rounds("Three.")])
    async with chat(assistant) as driver:
        await driver.ask("first")
        await driver.see("One.", "○ ready")
        await driver.ask("second")
        await driver.see("▲ The prompt has 9,000 tokens.", "Shorten it. Or press F4, then Enter")
        assert driver.prompt.text == "second"
        await driver.pilot.press("f4")
        await driver.see("Enter sends.")
        await driver.pilot.press("enter")
        await driver.see("Two.", "○ ready")
        await driver.pilot.press("f4")
        await driver.ask("third")
        await driver.see("Three.")
    assert assistant.chosen == ["stop", "stop", "drop", "stop"]
    assert [message.content for message in assistant.asked[2]] == ["first", "One.", "second"]


async def test_where_the_oldest_turns_go_already_no_key_is_offered() -> None:
    too_long = PromptTooLong("Too long.", "Shorten it.")
    assistant = Scripted([rounds("One."), too_long], context_full="drop")
    async with chat(assistant) as driver:
        await driver.ask("first")
        await driver.see("One.", "○ ready")
        await driver.ask("second")
        await driver.see("▲ Too long.", "Shorten it.")
        assert "F4" not in driver.screen
    assert assistant.chosen == ["drop", "drop"]


async def test_a_first_prompt_that_does_not_fit_is_not_offered_to_lose_turns_it_has_not() -> None:
    async with chat(Scripted([PromptTooLong("Too long.", "Shorten it.")])) as driver:
        await driver.ask("first")
        await driver.see("▲ Too long.", "Shorten it.")
        assert "F4" not in driver.screen


async def test_an_answer_that_the_context_cut_says_so() -> None:
    async with chat(Scripted([rounds("a", "b", reason="length")], context_limit=42)) as driver:
        await driver.ask("Go.")
        await driver.see("■ cut: the context of 42 tokens is full")


async def test_a_source_that_stands_down_says_why_in_mid_answer() -> None:
    class Narrow(Scripted):
        def answer(self, messages: Sequence[Message], **rest: Any) -> Iterator[Round]:
            for news in super().answer(messages, **rest):
                full = "Speculation is off: the draft model's context of 512 tokens is full."
                self.metrics.state, self.metrics.verdict = "parked", Verdict("parked", "context", full)
                yield news

    async with chat(Narrow([speculative(["a ", "b ", "c "])])) as driver:
        await driver.ask("Go.")
        await driver.see("‖ parked", "‖ Speculation is off: the draft model's context of 512 tokens is full.")


async def test_f2_shows_how_much_of_the_prompt_was_reused() -> None:
    class Reusing(Scripted):
        def answer(self, messages: Sequence[Message], **rest: Any) -> Iterator[Round]:
            for news in super().answer(messages, **rest):
                self.metrics.prompt_tokens, self.metrics.reused_tokens = 1024, 980
                yield news

    async with chat(Reusing([rounds("x", "y")]), size=(100, 24)) as driver:
        await driver.ask("Go.")
        await driver.see("○ ready")
        await driver.pilot.press("f2")
        await driver.see("2 tokens: 2 undrafted; prompt 1,024 tokens, 980 reused")


async def test_the_status_shows_the_numbers_of_speculation() -> None:
    words = [f"w{i} " for i in range(40)]
    assistant = Scripted([speculative(words)], metrics=Metrics(verdict=PAYING))
    async with chat(assistant, size=(110, 24)) as driver:
        await driver.ask("Go.")
        await driver.see("○ ready", "K 4", "12.3 tok/s", "rate ", "length ", "TTFT 0.42 s", "ctx 80/8192")
        await driver.see("▴ pays 1.80x", "It pays.")


async def test_the_status_says_why_speculation_is_off() -> None:
    async with chat(Scripted([rounds("x")])) as driver:
        await driver.see("Speculation is off: no draft source was chosen.")
        await driver.ask("Go.")
        await driver.see("x", "K 0", "rate -", "length -", "Speculation is off: no draft source was chosen.")


async def test_a_failed_turn_says_what_to_do_and_gives_the_prompt_back() -> None:
    assistant = Scripted([SpecError("The prompt is [too] long.", "Shorten it."), rounds("Fine.")])
    async with chat(assistant) as driver:
        await driver.ask("A [long] prompt")
        await driver.see("▲ The prompt is [too] long.", "Shorten it.", "▲ error")
        assert driver.prompt.text == "A [long] prompt"
        await driver.ask("short")
        await driver.see("Fine.")
    assert assistant.asked[1] == [Message("user", "short")]


async def test_a_prompt_that_comes_back_keeps_what_was_typed_since() -> None:
    assistant = Scripted([SpecError("No.", "")])
    assistant.going.clear()
    async with chat(assistant) as driver:
        await driver.ask("first")
        driver.prompt.load_text("second")
        assistant.going.set()
        await driver.until(lambda: driver.prompt.text == "first\n\nsecond")


async def test_a_model_that_cannot_be_loaded_is_named_and_sets_the_exit_code() -> None:
    async with chat(SpecError("There is no model called nope.", "Check --model.")) as driver:
        await driver.see("▲ There is no model called nope.", "Check --model.", "▲ error")
        await driver.ask("Hello?")
        assert driver.prompt.text == "Hello?"
        assert driver.app.desk.failure is not None
        assert driver.app.desk.failure.exit_code == 1


async def test_control_codes_and_markup_of_the_model_are_shown_and_not_obeyed() -> None:
    """Case c24."""
    evil = ["\x1b[31mred\x1b[0m ", "\x1b]52;c;aGk=\x07 ", "\x9b2J ", "[bold]b[/bold] ", "<b>t</b>", " [x](y)"]
    async with chat(Scripted([rounds(*evil, "\n\n", "tail")])) as driver:
        await driver.ask("\x1b[2J [red]mine[/red]")
        await driver.see("tail", "○ ready")
        for shown in ("␛[31mred␛[0m", "␛]52;c;aGk=␇", "\\x9b2J", "[bold]b[/bold]", "<b>t</b>", "x (y)"):
            assert shown in driver.screen
        assert "␛[2J [red]mine[/red]" in driver.screen
        await driver.pilot.press("f2")
        await driver.see("␛[31mred␛[0m", "[bold]b[/bold]", "[x](y)")
        assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in driver.screen.replace("\n", ""))
        assert driver.transcript.answers[0].text == "".join([*evil, "\n\n", "tail"])


async def test_markup_in_what_the_program_says_is_shown_and_not_obeyed() -> None:
    """Case c24, in a toast and in what stays in the transcript."""
    async with chat(Scripted([rounds("An answer.")])) as driver:
        await driver.ask("Go.")
        await driver.see("An answer.", "○ ready")
        await driver.ask("/rename [bold]x[/bold] [@click=app.quit]y[/]")
        await driver.see("called “[bold]x[/bold]", "[@click=app.quit]y[/]”")
        await driver.ask("/open [red]z[/red]")
        await driver.see("[red]z[/red]")
        driver.prompt.clear()
        await driver.ask("/attach [/nothing]")
        await driver.see("[/nothing]")


async def test_names_out_of_files_are_shown_and_not_obeyed() -> None:
    async with chat(Scripted(model="\x1b]0;title\x07[red]m[/red]", draft="\x9b5m")) as driver:
        await driver.see("␛]0;title␇[red]m[/red] · draft: \\x9b5m")


async def test_f2_shows_where_each_token_came_from_by_style_and_word() -> None:
    async with chat(Scripted([speculative(["alpha ", "beta ", "gamma ", "delta ", "epsilon"])])) as driver:
        await driver.ask("Go.")
        await driver.see("alpha", "○ ready")
        await driver.pilot.press("f2")
        await driver.see("underlined drafted and accepted", "bold the target's own", "plain undrafted")
        await driver.see("5 tokens: 4 drafted and accepted, 1 the target's own")
        marks = {
            segment.text.strip(): segment.style
            for strip in driver.app.screen._compositor.render_strips()
            for segment in strip
            if segment.style
        }
        assert marks["alpha"].underline
        assert not marks["alpha"].bold
        assert marks["epsilon"].bold
        assert not marks["epsilon"].underline
        await driver.pilot.press("f2")
        await driver.until(lambda: "underlined" not in driver.screen)


async def test_without_colour_the_screen_has_none_and_the_marks_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with chat(Scripted([speculative(["alpha ", "beta ", "gamma "])])) as driver:
        await driver.ask("Go.")
        await driver.see("alpha", "○ ready")
        await driver.pilot.press("f2")
        await driver.see("underlined")
        svg = driver.app.export_screenshot()
        colours = {part[:7] for part in svg.split("fill: ")[1:]}
        assert len(colours) <= 3  # the terminal's own ink, the ground, the window's title


async def test_the_transcript_follows_its_end_only_while_the_reader_is_there() -> None:
    """Case c23, second half."""
    assistant = Scripted([rounds(*LONG), rounds(*LONG)], pace=0.01)
    async with chat(assistant) as driver:
        await driver.ask("Tell.")
        await driver.until(lambda: driver.transcript.max_scroll_y > 5)
        await driver.until(lambda: driver.transcript.scroll_y == driver.transcript.max_scroll_y)
        await driver.pilot.press("pageup")
        at, end = driver.transcript.scroll_y, driver.transcript.max_scroll_y
        await driver.until(lambda: driver.transcript.max_scroll_y > end + 5)
        assert driver.transcript.scroll_y == at
        await driver.until(lambda: driver.state is State.READY)
        assert driver.transcript.scroll_y == at
        await driver.ask("More.")
        await driver.until(lambda: driver.transcript.scroll_y > end)
        await driver.until(lambda: driver.state is State.READY)
        assert driver.transcript.scroll_y == driver.transcript.max_scroll_y


async def test_paging_in_a_chat_that_fits_does_not_let_go_of_the_end() -> None:
    assistant = Scripted([rounds(*LONG)])
    assistant.going.clear()
    async with chat(assistant) as driver:
        await driver.ask("Tell.")
        await driver.pilot.press("pageup", "pagedown", "pageup")
        assistant.going.set()
        await driver.see("line 59", "○ ready")


async def test_a_long_open_fence_stays_readable_and_settles() -> None:
    code = [f"line_{i} = {i}\n" for i in range(400)]
    async with chat(Scripted([rounds("```python\n", *code, "```\n", "Done.")])) as driver:
        await driver.ask("Code.")
        await driver.see("line_399 = 399", "Done.", "○ ready")


async def test_it_survives_any_size() -> None:
    async with chat(Scripted([rounds("日本語の文章です。 " * 20, "```\ncode\n```")])) as driver:
        await driver.ask("Go.")
        await driver.see("code", "○ ready")
        for size in ((20, 8), (160, 48), (5, 3), (40, 12), (80, 24)):
            await driver.pilot.resize_terminal(*size)
            await driver.pilot.pause()
        await driver.see("code", "○ ready")


async def test_a_click_leaves_the_keyboard_to_the_prompt() -> None:
    async with chat(Scripted()) as driver:
        await driver.pilot.click(Transcript, offset=(5, 2))
        await driver.pilot.press("y")
        assert driver.prompt.text == "y"


async def test_warnings_are_shown() -> None:
    async with chat(Scripted(warnings=["This [model] has no chat template."])) as driver:
        await driver.see("! This [model] has no chat template.")


def test_what_happened_is_told_again_after_the_screen_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    from app.tui import chat as run_chat

    def run(self: Chat) -> int:
        self.desk.failure = Failed("There is no model called nope.", "Check --model.", 3, loading=True)
        return 0

    monkeypatch.setattr(Chat, "run", run)
    err = io.StringIO()
    monkeypatch.setattr("sys.stderr", err)
    assert run_chat(desk_for(worker_for(Scripted()))) == 3
    assert "There is no model called nope. Check --model." in err.getvalue()


def test_a_failure_of_the_last_moment_is_told_though_no_screen_showed_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from app.tui import chat as run_chat

    class Full(Scripted):
        def close(self) -> None:
            raise OSError(28, "No space left on device")

    worker = worker_for(Full(unsaved="The prompt cache could not be saved."))

    def run(self: Chat) -> int:
        worker.start()
        while not worker.events or not isinstance(worker.events[-1], Ready):
            pass
        return 0

    monkeypatch.setattr(Chat, "run", run)
    err = io.StringIO()
    monkeypatch.setattr("sys.stderr", err)
    assert run_chat(desk_for(worker)) == 1
    assert err.getvalue().splitlines() == [
        "specchat: warning: The prompt cache could not be saved.",
        "specchat: error: No space left on device.",
    ]
