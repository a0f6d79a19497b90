"""Answers anew, edits, going back: everything said stays, and the model is told the path that shows."""

from __future__ import annotations

from pathlib import Path

from driver import chat
from screenplay import Scripted, rounds

from app.assistant.template import Message
from app.tui.status import State
from mlx_spec.errors import SpecError


async def test_another_answer_stands_beside_the_first_and_arrows_go_between() -> None:
    assistant = Scripted([rounds("First."), rounds("Second."), rounds("Third.")])
    async with chat(assistant) as driver:
        await driver.ask("Who?")
        await driver.see("First.", "○ ready")
        await driver.pilot.press("ctrl+r")
        await driver.see("Second.", "2 of 2", "○ ready")
        assert "First." not in driver.screen
        await driver.ask("/branch previous")
        await driver.see("First.", "1 of 2")
        await driver.ask("And?")
        await driver.see("Third.", "○ ready")
    assert assistant.asked[1] == [Message("user", "Who?")]
    assert [message.content for message in assistant.asked[2]] == ["Who?", "First.", "And?"]


async def test_an_edited_question_is_a_branch_and_the_old_one_stays() -> None:
    assistant = Scripted([rounds("One."), rounds("Two."), rounds("Three.")])
    async with chat(assistant) as driver:
        await driver.ask("Alpha")
        await driver.see("One.", "○ ready")
        await driver.ask("Beta")
        await driver.see("Two.", "○ ready")
        await driver.ask("/edit 1")
        await driver.see("Enter asks this anew, as a branch. Esc leaves it.")
        assert driver.prompt.text == "Alpha"
        await driver.ask("Gamma")
        await driver.see("Three.", "2 of 2", "○ ready")
        assert "Beta" not in driver.screen
        await driver.ask("/branch previous")
        await driver.see("Alpha", "One.", "Beta", "Two.")
    assert assistant.asked[2] == [Message("user", "Gamma")]


async def test_esc_leaves_an_edit_and_the_next_question_is_a_new_one() -> None:
    assistant = Scripted([rounds("One."), rounds("Two.")])
    async with chat(assistant) as driver:
        await driver.ask("Alpha")
        await driver.see("One.", "○ ready")
        await driver.ask("/edit")
        await driver.see("as a branch")
        await driver.pilot.press("escape")
        assert driver.prompt.text == ""
        await driver.ask("Beta")
        await driver.see("Two.")
    assert [message.content for message in assistant.asked[1]] == ["Alpha", "One.", "Beta"]


async def test_an_edit_is_left_with_its_chat_and_what_is_written_is_a_new_question() -> None:
    assistant = Scripted([rounds("One."), rounds("Two."), rounds("Three.")])
    async with chat(assistant) as driver:
        await driver.ask("Alpha")
        await driver.see("One.", "○ ready")
        first = driver.app.desk.shelf.open_id()
        await driver.ask("/edit")
        await driver.see("as a branch")
        await driver.pilot.press("ctrl+n")
        await driver.until(lambda: "as a branch" not in driver.screen)
        await driver.ask(f"/open {first}")
        await driver.see("One.")
        assert "as a branch" not in driver.screen
        await driver.ask("Beta")
        await driver.see("Two.", "○ ready")
    assert [message.content for message in assistant.asked[1]] == ["Alpha", "One.", "Beta"]


async def test_an_edit_of_a_question_that_was_taken_back_is_a_new_question() -> None:
    assistant = Scripted([rounds("Never said."), rounds("Two.")])
    assistant.going.clear()
    async with chat(assistant) as driver:
        await driver.ask("Alpha")
        await driver.see("◐ reading prompt")
        await driver.ask("/edit")
        await driver.see("as a branch")
        await driver.pilot.press("escape")
        await driver.see("■ stopped")
        assert "as a branch" not in driver.screen
        assistant.going.set()
        await driver.ask("Beta")
        await driver.see("Two.")
    assert assistant.asked[-1] == [Message("user", "Beta")]


async def test_while_an_answer_runs_esc_stops_it_and_the_edit_goes_on() -> None:
    assistant = Scripted([rounds(*(f"word{i} " for i in range(3000))), rounds("Two.")], pace=0.01)
    async with chat(assistant) as driver:
        await driver.ask("Alpha")
        await driver.see("word1 ")
        await driver.ask("/edit")
        await driver.ask("Beta")
        await driver.see("An answer is running. Esc stops it.")
        await driver.pilot.press("escape")
        await driver.see("■ stopped", "as a branch")
        assert driver.prompt.text == "Beta"
        await driver.pilot.press("enter")
        await driver.see("Two.", "2 of 2")
    assert assistant.asked[1] == [Message("user", "Beta")]


async def test_esc_leaves_an_edit_and_up_recalls_what_was_written() -> None:
    async with chat(Scripted([rounds("One.")])) as driver:
        await driver.ask("Alpha")
        await driver.see("One.", "○ ready")
        await driver.ask("/edit")
        await driver.pilot.press("!", "escape")
        assert driver.prompt.text == ""
        await driver.pilot.press("up")
        assert driver.prompt.text == "Alpha!"


async def test_a_command_during_an_edit_is_done_and_leaves_the_prompt() -> None:
    assistant = Scripted([rounds("One."), rounds("Two.")])
    async with chat(assistant) as driver:
        await driver.ask("Alpha")
        await driver.see("One.", "○ ready")
        await driver.ask("/edit")
        await driver.ask("/k")
        await driver.see("K is auto.", "as a branch")
        assert driver.prompt.text == ""
        await driver.ask("Beta")
        await driver.see("Two.", "2 of 2")


async def test_an_edited_question_takes_the_files_that_it_names_and_that_wait(tmp_path: Path) -> None:
    for name in ("old", "named", "waiting"):
        (tmp_path / name).write_text(f"{name} text", encoding="utf-8")
    assistant = Scripted([rounds("One."), rounds("Two.")])
    async with chat(assistant) as driver:
        await driver.ask(f"Read @{tmp_path / 'old'}")
        await driver.see("One.", "○ ready")
        await driver.ask(f"/attach {tmp_path / 'waiting'}")
        await driver.ask("/edit")
        await driver.ask(f"And @{tmp_path / 'named'}")
        await driver.see("Two.")
        assert driver.app.desk.tray.files == []
    assert all(f"{name} text" in assistant.asked[1][0].content for name in ("old", "named", "waiting"))


async def test_undo_takes_a_turn_back_and_redo_brings_it_again() -> None:
    assistant = Scripted([rounds("One."), rounds("Two."), rounds("Three.")])
    async with chat(assistant) as driver:
        await driver.ask("Alpha")
        await driver.see("One.", "○ ready")
        await driver.ask("Beta")
        await driver.see("Two.", "○ ready")
        await driver.ask("/undo")
        await driver.see("Took back “Beta”.")
        assert "Two." not in driver.screen
        await driver.ask("/redo")
        await driver.see("Beta", "Two.")
        await driver.ask("/undo")
        await driver.ask("Gamma")
        await driver.see("Three.", "2 of 2")
    assert [message.content for message in assistant.asked[2]] == ["Alpha", "One.", "Gamma"]


async def test_there_is_nothing_to_undo_regenerate_or_continue_in_an_empty_chat() -> None:
    async with chat(Scripted()) as driver:
        for command, said in (
            ("/undo", "There is nothing to undo."),
            ("/redo", "There is nothing to redo."),
            ("/regenerate", "There is no question to"),
            ("/continue", "There is no answer to"),
            ("/branch", "There is one answer only."),
            ("/copy", "There is no answer to copy"),
            ("/edit", "There is no question yet."),
        ):
            await driver.ask(command)
            await driver.see(said)
            assert driver.prompt.text == command, "what was refused can be mended"


async def test_a_stopped_answer_goes_on_in_the_same_message() -> None:
    assistant = Scripted([rounds(*(f"word{i} " for i in range(500))), rounds("and more.")], pace=0.01)
    async with chat(assistant) as driver:
        await driver.ask("Tell.")
        await driver.see("word3 ")
        await driver.pilot.press("escape")
        await driver.see("■ stopped")
        so_far = driver.app.desk.conversation.path[-1].text
        await driver.ask("/continue")
        await driver.see("and more.", "○ ready")
        assert "■ stopped" not in driver.screen
        assert driver.app.desk.conversation.path[-1].text == so_far + "and more."
        assert len(driver.transcript.answers) == 1
        await driver.ask("/continue")
        await driver.see("The answer is complete")
    question, partial = assistant.asked[1]
    assert question == Message("user", "Tell.")
    assert (partial.role, partial.content) == ("assistant", so_far)
    assert partial.tokens == tuple(range(len(partial.tokens))), "in the tokens that the model emitted"
    assert len(partial.tokens) == so_far.count("word")


async def test_a_failure_in_mid_answer_keeps_what_was_said() -> None:
    class Breaking(Scripted):
        def answer(self, messages, **rest):  # type: ignore[no-untyped-def]
            for number, news in enumerate(super().answer(messages, **rest)):
                if number == 2 and len(self.asked) == 1:
                    raise SpecError("The machine coughed.", "Try again.")
                yield news

    assistant = Breaking([rounds("a ", "b ", "c "), rounds("d.")])
    async with chat(assistant) as driver:
        await driver.ask("Go.")
        await driver.see("▲ The machine coughed.", "a b", "■ ended by an error")
        assert driver.prompt.text == ""
        await driver.ask("/continue")
        await driver.see("a b d.", "○ ready")
    assert assistant.asked[1][-1].content == "a b "


async def test_an_answer_stopped_before_its_first_word_leaves_the_one_before() -> None:
    assistant = Scripted([rounds("First."), rounds("Second.")])
    async with chat(assistant) as driver:
        await driver.ask("Who?")
        await driver.see("First.", "○ ready")
        assistant.going.clear()
        await driver.pilot.press("ctrl+r")
        await driver.until(lambda: driver.state is State.READING)
        await driver.pilot.press("escape")
        await driver.see("First.", "■ stopped")
        assert "of 2" not in driver.screen
        assert driver.prompt.text == ""
