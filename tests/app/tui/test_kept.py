"""Chats outlive the program: kept while answers stream, and taken up again; and where they cannot be."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from driver import chat
from screenplay import Scripted, desk_for, rounds, worker_for

from app.answer import dump, facts
from app.assistant.template import Message
from app.chats.store import Store
from app.desk.chat_verbs import import_chat
from app.desk.shelf import title_of
from app.files.reading import FileError
from app.thinking import Markers
from models import locations


def kept() -> Store:
    return Store.open(locations.chats_file())


async def test_a_chat_is_taken_up_where_it_was_and_the_model_is_told_all_of_it() -> None:
    async with chat(Scripted([rounds("First.")])) as driver:
        await driver.ask("Who?")
        await driver.see("First.", "○ ready")
    assistant = Scripted([rounds("Second.")])
    async with chat(assistant, resume=True) as driver:
        await driver.see("Who?", "First.")
        await driver.ask("And?")
        await driver.see("Second.", "○ ready")
    assert [message.content for message in assistant.asked[0]] == ["Who?", "First.", "And?"]
    store = kept()
    (only,) = store.chats()
    assert (only.title, only.messages, only.model, only.draft) == ("Who?", 4, "builtin", "auto")
    store.close()


async def test_where_the_person_was_among_branches_is_kept() -> None:
    async with chat(Scripted([rounds("First."), rounds("Second.")])) as driver:
        await driver.ask("Who?")
        await driver.see("First.", "○ ready")
        await driver.pilot.press("ctrl+r")
        await driver.see("Second.", "○ ready")
        await driver.ask("/branch previous")
        await driver.see("First.", "1 of 2")
    async with chat(Scripted(), resume=True) as driver:
        await driver.see("First.", "1 of 2")
        await driver.ask("/branch next")
        await driver.see("Second.", "2 of 2")


async def test_what_streams_is_on_disk_before_it_ends() -> None:
    """Case c25, seen from another process's side; tests of the store kill a real one."""
    assistant = Scripted([rounds(*(f"word{i} " for i in range(500)))], pace=0.01)
    async with chat(assistant) as driver:
        await driver.ask("Tell.")
        await driver.see("word9 ")
        store = kept()

        def written() -> bool:
            messages = store.messages(store.chats()[0].id) if store.chats() else []
            return len(messages) == 2 and "word9 " in messages[1].text

        await driver.until(written)
        store.close()
        await driver.pilot.press("escape")
        await driver.see("■ stopped")


async def test_thinking_that_the_prompt_opened_is_thinking_when_the_chat_is_taken_up() -> None:
    opened = Scripted([rounds("Well, hm.", "</think>", "Yes.")], markers=Markers(opener="<think>\n"))
    async with chat(opened) as driver:
        await driver.ask("Go.")
        await driver.see("Yes.", "○ ready")
    async with chat(Scripted(), resume=True) as driver:
        await driver.see("▸ thought for", "Yes.")
        assert "Well" not in driver.screen
        await driver.pilot.press("f2")
        await driver.see("3 tokens: 3 undrafted")


async def test_a_models_own_markers_tell_its_thinking_when_the_chat_is_taken_up_and_exported(
    tmp_path: Path,
) -> None:
    thought = Scripted(
        [rounds("[THINK]Well", ", hm.[/THINK]", "Yes.")], markers=Markers("[THINK]", "[/THINK]")
    )
    async with chat(thought) as driver:
        await driver.ask("Go.")
        await driver.see("Yes.", "○ ready")
    async with chat(Scripted(), resume=True) as driver:
        await driver.see("▸ thought for", "Yes.")
        assert "Well" not in driver.screen
        await driver.ask(f"/export {tmp_path / 'chat.json'}")
        await driver.until((tmp_path / "chat.json").exists)
    answer = json.loads((tmp_path / "chat.json").read_text())["messages"][1]["answer"]
    assert (answer["text"], answer["thinking"]) == ("Yes.", "Well, hm.")


async def test_the_export_of_an_answer_says_what_ask_says_of_it(tmp_path: Path) -> None:
    assistant = Scripted([rounds("First.")])
    async with chat(assistant) as driver:
        await driver.ask("Alpha")
        await driver.see("First.", "○ ready")
        await driver.ask(f"/export {tmp_path / 'chat.json'}")
        await driver.until((tmp_path / "chat.json").exists)
    said = json.loads((tmp_path / "chat.json").read_text())["messages"][1]["answer"]
    known = facts(assistant.metrics, assistant.model, assistant.draft)
    known |= {"finish_reason": "stop", "markers": ["<think>", "</think>"], "text": "First.", "thinking": None}
    assert said == json.loads(dump(known))


async def test_quitting_in_mid_answer_keeps_what_was_said() -> None:
    assistant = Scripted([rounds(*(f"word{i} " for i in range(500)))], pace=0.01)
    async with chat(assistant) as driver:
        await driver.ask("Tell.")
        await driver.see("word3 ")
        await driver.pilot.press("ctrl+q")
    more = Scripted([rounds("the end.")])
    async with chat(more, resume=True) as driver:
        await driver.see("word3 ", "■ stopped")
        await driver.ask("/continue")
        await driver.see("the end.", "○ ready")
    assert more.asked[0][-1].tokens[:3] == (0, 1, 2), "its tokens were kept too"


async def test_a_question_that_was_still_being_read_is_kept() -> None:
    assistant = Scripted([rounds("x")])
    assistant.going.clear()
    async with chat(assistant) as driver:
        await driver.ask("Long one")
        await driver.see("◐ reading prompt")
        await driver.pilot.press("ctrl+q")
    again = Scripted([rounds("Answered.")])
    async with chat(again, resume=True) as driver:
        await driver.see("Long one", "■ interrupted")
        await driver.ask("/continue")
        await driver.see("Answered.", "○ ready")
    assert again.asked == [[Message("user", "Long one")]]


async def test_a_question_that_was_taken_back_leaves_no_chat() -> None:
    assistant = Scripted([rounds("x")])
    assistant.going.clear()
    async with chat(assistant) as driver:
        await driver.ask("Hasty")
        await driver.see("◐ reading prompt")
        await driver.pilot.press("escape")
        await driver.until(lambda: driver.prompt.text == "Hasty")
    store = kept()
    assert store.chats() == []
    store.close()


async def test_new_open_rename_delete_and_undelete() -> None:
    assistant = Scripted([rounds("First."), rounds("Second.")])
    async with chat(assistant) as driver:
        await driver.ask("Alpha")
        await driver.see("First.", "○ ready")
        await driver.ask("/rename The first")
        await driver.ask("/new")
        await driver.until(lambda: "First." not in driver.screen)
        await driver.ask("Beta")
        await driver.see("Second.", "○ ready")
        other = next(c for c in driver.app.desk.shelf.reading.chats() if c.title == "The first")
        await driver.ask(f"/open {other.id[:4]}")
        await driver.see("Alpha", "First.")
        await driver.ask("/delete")
        await driver.until(lambda: "Alpha" not in driver.screen)
        assert [c.title for c in driver.app.desk.shelf.reading.chats()] == ["Beta"]
        await driver.ask("/undelete")
        await driver.see("Alpha", "First.")
    assert assistant.asked[1] == [Message("user", "Beta")]


async def test_the_list_of_chats_opens_what_is_chosen() -> None:
    async with chat(Scripted([rounds("First.")])) as driver:
        await driver.ask("Alpha")
        await driver.see("First.", "○ ready")
        await driver.ask("/new")
        await driver.until(lambda: "First." not in driver.screen)
        await driver.pilot.press("ctrl+o")
        await driver.see("Alpha", "2 messages")
        await driver.pilot.press("enter")
        await driver.see("▌ Alpha", "First.")
        await driver.pilot.press("ctrl+o")
        await driver.see("2 messages")
        await driver.pilot.press("escape")
        await driver.until(lambda: len(driver.app.screen_stack) == 1)


async def test_speaking_in_a_deleted_chat_brings_it_back_and_deleting_the_open_one_leaves_it() -> None:
    async with chat(Scripted([rounds("First."), rounds("Second.")])) as driver:
        await driver.ask("Alpha")
        await driver.see("First.", "○ ready")
        store = kept()
        store.delete(store.chats()[0].id)
        await driver.ask("Beta")
        await driver.see("Second.", "○ ready")
        await driver.until(lambda: len(store.chats()) == 1)
        store.close()
        await driver.pilot.press("ctrl+o")
        await driver.see("4 messages")
        await driver.pilot.press("d", "escape")
        await driver.until(lambda: "Second." not in driver.screen)
        assert driver.app.desk.shelf.chat is None


@pytest.mark.parametrize("name", ["chat.md", "chat.json"])
async def test_a_chat_leaves_as_a_file_and_comes_back(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    async with chat(Scripted([rounds("First. \x7f\x9b31m")])) as driver:
        await driver.ask("Alpha")
        await driver.see("First.", "○ ready")
        await driver.ask(f"/export {file}")
        await driver.until(file.exists)
        assert not {"\x7f", "\x9b"} & set(file.read_text(encoding="utf-8"))
        await driver.ask(f"/export {file}")
        await driver.see("there already")
        driver.prompt.clear()
        await driver.ask("/new")
        await driver.ask(f"/import {file}")
        await driver.see("Alpha", "First.")
        assert len(driver.app.desk.shelf.reading.chats()) == 2


def test_no_import_waits_for_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileError, match="is a pipe or a device"):
        import_chat(desk_for(worker_for(Scripted())), str(tmp_path / "pipe"))


async def test_a_pinned_chat_stands_on_top_of_the_list_until_it_is_pinned_no_longer() -> None:
    async with chat(Scripted([rounds("First."), rounds("Second.")])) as driver:
        await driver.ask("Alpha")
        await driver.see("First.", "○ ready")
        await driver.ask("/pin")
        await driver.see("This chat stays on top of the list.")
        await driver.ask("/new")
        await driver.ask("Beta")
        await driver.see("Second.", "○ ready")
        await driver.pilot.press("ctrl+o")
        await driver.until(lambda: driver.screen.find("★ Alpha") < driver.screen.find("Beta    "))
        await driver.pilot.press("escape")
        assert [each.title for each in driver.app.desk.shelf.reading.chats()] == ["Alpha", "Beta"]
        await driver.ask(f"/open {driver.app.desk.shelf.reading.chats()[0].id}")
        await driver.see("First.")
        await driver.ask("/pin")
        await driver.see("This chat is pinned no longer.")
        assert [each.title for each in driver.app.desk.shelf.reading.chats()] == ["Beta", "Alpha"]


async def test_a_backup_holds_all_chats_and_no_file_is_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "all of them.db"
    async with chat(Scripted([rounds("First."), rounds("Second.")])) as driver:
        for question, said in (("Alpha", "First."), ("Beta", "Second.")):
            await driver.ask(question)
            await driver.see(said, "○ ready")
            await driver.ask("/new")
        await driver.ask(f"/backup {file}")
        await driver.until(file.exists)
        await driver.ask(f"/backup {file}")
        await driver.see("there already")
    copy = Store.open(file)
    texts = {each.title: copy.messages(each.id)[1].text for each in copy.chats()}
    copy.close()
    assert texts == {"Alpha": "First.", "Beta": "Second."}


async def test_a_search_by_word_opens_the_chat_that_has_it() -> None:
    async with chat(Scripted([rounds("It needs yeast, and time."), rounds("한국어 문법은 쉽다.")])) as driver:
        for question, said in (("Alpha", "yeast"), ("Beta", "문법은")):
            await driver.ask(question)
            await driver.see(said, "○ ready")
            await driver.ask("/new")
        await driver.ask("/search YEAST")
        await driver.see("› Alpha", "It needs yeast, and time.")
        assert "Beta" not in driver.screen
        await driver.pilot.press("enter")
        await driver.see("▌ Alpha", "It needs yeast")
        await driver.ask("/search 문법")
        await driver.see("› Beta")
        await driver.pilot.press("enter")
        await driver.see("▌ Beta", "한국어 문법은 쉽다.")


async def test_up_recalls_questions_of_earlier_chats() -> None:
    async with chat(Scripted([rounds("First.")])) as driver:
        await driver.ask("Alpha")
        await driver.see("First.", "○ ready")
    async with chat(Scripted()) as driver:
        await driver.pilot.press("up")
        assert driver.prompt.text == "Alpha"


async def test_where_nothing_can_be_kept_the_chat_goes_on_and_that_is_said_once(home: Path) -> None:
    home.parent.mkdir(parents=True, exist_ok=True)
    home.write_text("a file where the folder should be")
    assistant = Scripted([rounds("First."), rounds("Second.")])
    async with chat(assistant, saved=False) as driver:
        await driver.ask("Alpha")
        await driver.see("First.", "○ ready")
        await driver.until(lambda: "kept in memory alone" in " ".join(driver.screen.split()))
        await driver.ask("Beta")
        await driver.see("Second.", "○ ready")
        assert " ".join(driver.screen.split()).count("in memory alone") == 1
    assert [message.content for message in assistant.asked[1]] == ["Alpha", "First.", "Beta"]


def test_a_title_is_the_first_line_that_says_something_cut() -> None:
    assert title_of("\n  \n  What is\ta\x1b[2J draft?\nMore.") == "What is a\x1b[2J draft?"
    assert title_of("word " * 40) == ("word " * 12).rstrip() + "…"
    assert title_of("") == ""


@pytest.mark.parametrize("leave", ["/new", "/delete"])
async def test_nothing_of_a_chat_that_was_left_shows_in_inspector_and_timeline(leave: str) -> None:
    async with chat(Scripted([rounds("Private.")])) as driver:
        await driver.ask("Who?")
        await driver.see("Private.", "○ ready")
        await driver.ask(leave)
        await driver.see("A draft proposes")
        for key in ("f6", "f7"):
            await driver.pilot.press(key)
            await driver.see("No rounds yet: ask something first.")
            assert "Private." not in driver.screen
            await driver.pilot.press("escape")


async def test_a_hit_of_a_search_is_shown_on_whatever_branch_it_is() -> None:
    assistant = Scripted([rounds("needle " + "\n\nline" * 60), rounds("Other."), rounds("Third.")])
    async with chat(assistant) as driver:
        await driver.ask("Who?")
        await driver.see("line", "○ ready")
        await driver.ask("/regenerate")
        await driver.see("Other.", "○ ready")
        await driver.ask("And?")
        await driver.see("Third.", "○ ready")
        await driver.ask("/new")
        await driver.ask("/search needle")
        await driver.see("Chats", "needle   line")
        await driver.pilot.press("enter")
        await driver.see("▎ needle", "1 of 2")


async def test_an_export_holds_no_control_characters(tmp_path: Path) -> None:
    async with chat(Scripted([rounds("\x1b[2J\x9b31m\x7f")])) as driver:
        await driver.ask("Who?")
        await driver.see("○ ready", "[2J")
        for name in ("chat.json", "chat.md"):
            await driver.ask(f"/export {tmp_path / name}")
            await driver.until(lambda name=name: (tmp_path / name).exists())  # type: ignore[misc]
            text = (tmp_path / name).read_text(encoding="utf-8")
            assert not {"\x1b", "\x9b", "\x7f"} & {*text}
    assert (tmp_path / "chat.json").read_bytes().isascii()
