"""Files in a chat: attached or named, told to the model, and found again in what it says."""

from __future__ import annotations

from pathlib import Path

import pytest
from driver import chat
from screenplay import Scripted, rounds

from app.chats.store import Store
from models import locations

LINES = [f"This is line {number} of the notes, and it says nothing else.\n" for number in range(1, 20)]


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "notes.txt"
    file.write_text("".join(LINES))
    return file


async def test_an_attached_file_is_shown_with_its_size_and_told_to_the_model(notes: Path) -> None:
    assistant = Scripted([rounds("Fine.")])
    async with chat(assistant) as driver:
        await driver.ask("/attach notes.txt")
        await driver.see("+ notes.txt (1 KB, 19 lines, UTF-8)")
        await driver.ask("Sum up.")
        await driver.see("Fine.", "○ ready", "notes.txt")
        assert driver.screen.count("+ notes.txt (") == 1, "with the question, and waiting no longer"
    (message,) = assistant.asked[0]
    assert "".join(LINES) in message.content
    assert message.content.endswith("Sum up.")


async def test_a_file_named_in_a_question_goes_with_it_and_one_that_is_not_there_is_text(notes: Path) -> None:
    assistant = Scripted([rounds("Fine.")])
    async with chat(assistant) as driver:
        await driver.ask("What do @notes.txt and @nobody say?")
        await driver.see("Fine.", "○ ready")
        (file,) = driver.app.desk.conversation.path[0].attachments
        assert file.path == str(notes)
    assert LINES[3] in assistant.asked[0][0].content


async def test_a_path_that_names_no_file_is_said_to_be_words(notes: Path) -> None:
    async with chat(Scripted([rounds("Fine.")])) as driver:
        await driver.ask("What do @notes.txt and @notes.md say?")
        await driver.see("@notes.md names no file", "Fine.", "○ ready")


async def test_a_file_named_in_a_question_that_the_context_cannot_hold_is_warned_of(notes: Path) -> None:
    async with chat(Scripted([rounds("Fine.")], context_limit=256)) as driver:
        await driver.ask("Sum up @notes.txt")
        await driver.until(lambda: "the context of 256" in " ".join(driver.screen.split()))


async def test_an_edited_question_keeps_its_files_and_takes_those_that_it_names(notes: Path) -> None:
    notes.with_name("more.txt").write_text("And more.\n")
    notes.with_name("last.txt").write_text("And the last.\n")
    async with chat(Scripted([rounds("One."), rounds("Two.")])) as driver:
        await driver.ask("Sum up @notes.txt please")
        await driver.see("One.", "○ ready")
        await driver.ask("/attach last.txt")
        await driver.see("+ last.txt")
        await driver.ask("/edit")
        await driver.see("as a branch")
        await driver.ask("Sum up @more.txt instead")
        await driver.see("Two.", "○ ready")
        files = driver.app.desk.conversation.path[0].attachments
        assert [Path(file.path).name for file in files] == ["notes.txt", "last.txt", "more.txt"]
        assert driver.app.desk.tray.files == []


async def test_what_cannot_be_attached_is_refused_and_the_question_stays(notes: Path) -> None:
    notes.with_name("picture.bin").write_bytes(b"\0\1\2" * 50)
    async with chat(Scripted()) as driver:
        await driver.ask("/attach nowhere.txt")
        await driver.see("There is no file")
        await driver.ask("See @picture.bin")
        await driver.see("is not a text file")
        assert driver.prompt.text == "See @picture.bin"
        await driver.ask("/detach")
        await driver.see("No file waits")


async def test_a_file_can_be_left_out_again_and_all_are_listed(notes: Path) -> None:
    assistant = Scripted([rounds("Fine.")])
    async with chat(assistant) as driver:
        await driver.ask("/attach notes.txt")
        await driver.ask("/files")
        await driver.see("for the next")
        await driver.ask("/detach notes.txt")
        await driver.until(lambda: "+ notes.txt" not in driver.screen)
        await driver.ask("Hello")
        await driver.see("Fine.", "○ ready")
    assert assistant.asked[0][0].content == "Hello"


async def test_a_question_that_comes_back_brings_its_files(notes: Path) -> None:
    assistant = Scripted([rounds("x")])
    assistant.going.clear()
    async with chat(assistant) as driver:
        await driver.ask("/attach notes.txt")
        await driver.ask("Sum up.")
        await driver.see("◐ reading prompt")
        await driver.pilot.press("escape")
        await driver.see("+ notes.txt (1 KB")
        await driver.until(lambda: driver.prompt.text == "Sum up.")


async def test_what_an_answer_copied_is_marked_kept_and_shown_again(notes: Path) -> None:
    said = f"It says: {LINES[6].strip()} And no more."
    async with chat(Scripted([rounds(said)])) as driver:
        await driver.ask("Quote @notes.txt")
        await driver.see("It says:", "copied from", "notes.txt")
    store = Store.open(locations.chats_file())
    answer = store.messages(store.chats()[0].id)[1]
    store.close()
    (span,) = answer.spans
    assert answer.text[span.start : span.end] == LINES[6].strip()
    assert (span.first_line, span.last_line, span.path) == (7, 7, str(notes))
    async with chat(Scripted(), resume=True) as driver:
        await driver.see("It says:", "copied from")


async def test_a_file_that_will_not_fit_is_told_before_it_is_sent(notes: Path) -> None:
    async with chat(Scripted(context_limit=100)) as driver:
        await driver.ask("/attach notes.txt")
        await driver.see("context of 100 tokens")
