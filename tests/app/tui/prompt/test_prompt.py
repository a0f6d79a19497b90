"""The prompt box: lines, earlier questions, folded pastes, completions."""

from __future__ import annotations

import random

import pytest
from showing import showing
from textual import events
from textual._xterm_parser import XTermParser

from app.tui.prompt.completion import at
from app.tui.prompt.pastes import Pastes
from app.tui.prompt.prompt import NEWLINE, Prompt
from app.tui.prompt.recall import Recall
from app.tui.terminal import inside

LONG = "\n".join(f"line {n}" for n in range(312))
CHIP = "[pasted 312 lines]"
FILES = ["notes.txt", "src/", '"한국어 파일.txt"']


def files(part: str) -> list[str]:
    return [name for name in FILES if name.strip('"').startswith(part.strip('"'))]


def box() -> Prompt:
    return Prompt({"PATH": files})


# Lines


async def test_a_backslash_before_enter_breaks_the_line() -> None:
    async with showing(box()) as person:
        await person.type("one\\")
        await person.press("enter")
        await person.type("two")
        assert person.prompt.text == "one\ntwo"
        await person.press("enter")
        assert person.app.sent == ["one\ntwo"]


async def test_on_a_small_screen_it_takes_no_more_than_half() -> None:
    async with showing(box(), size=(20, 8)) as person:
        person.prompt.write("한국어 " * 40)
        await person.pilot.pause()
        assert person.prompt.outer_size.height <= 4
        assert "한국어" in person.screen


async def test_the_keys_that_fit_are_told() -> None:
    async with showing(box()) as person:
        assert "Ctrl+J new line · Esc stop · Enter send · F1 help" in person.screen
    async with showing(box(), size=(20, 8)) as person:
        assert "Ctrl+Q quit" in person.screen


async def test_keys_are_taken_in_their_order_however_fast_they_come() -> None:
    async with showing(box()) as person:
        await person.press_at_once("a", "b", "backspace", "c", "left", "d", "ctrl+u", "e", "enter", "f")
        assert person.app.sent == ["ec"]
        assert person.prompt.text == "f"


# Earlier questions


async def test_up_recalls_what_was_asked_and_down_brings_the_draft_back() -> None:
    async with showing(box()) as person:
        person.prompt.remember(["first", "second"])
        await person.type("draft")
        await person.press("up")
        assert person.prompt.text == "second"
        await person.press("up", "up")
        assert person.prompt.text == "first"
        await person.press("down", "down")
        assert person.prompt.text == "draft"


async def test_up_and_down_move_within_several_lines_first() -> None:
    async with showing(box()) as person:
        person.prompt.remember(["earlier"])
        await person.type("a\nb")
        await person.press("up")
        assert (person.prompt.text, person.prompt.cursor_location) == ("a\nb", (0, 1))
        await person.press("up")
        assert person.prompt.text == "earlier"
        await person.press("down")
        assert person.prompt.text == "a\nb"


async def test_what_was_sent_is_the_latest_to_recall() -> None:
    async with showing(box()) as person:
        await person.type("asked")
        await person.press("enter", "up")
        assert person.prompt.text == "asked"


async def test_a_recalled_command_opens_no_completions_that_would_take_the_keys() -> None:
    async with showing(box()) as person:
        person.prompt.remember(["first", "/new"])
        await person.press("up", "up")
        assert person.prompt.text == "first"


def test_a_recalled_text_that_was_changed_stays_so_until_something_is_sent() -> None:
    recall = Recall(["one", "two"])
    assert recall.back("draft") == "two"
    assert recall.back("two, changed") == "one"
    assert recall.on("one") == "two, changed"
    assert recall.on("two, changed") == "draft"
    assert recall.on("draft") is None
    recall.add("three")
    assert [recall.back(""), recall.back("three"), recall.back("two")] == ["three", "two", "one"]
    assert recall.back("one") is None


# Pastes


async def test_a_long_paste_is_one_chip_that_is_sent_in_full() -> None:
    async with showing(box()) as person:
        await person.type("Look: ")
        await person.paste(LONG)
        assert person.prompt.text == f"Look: {CHIP}"
        await person.type(" ok")
        await person.press("enter")
        assert person.app.sent == [f"Look: {LONG} ok"]


async def test_a_chip_can_be_written_out_and_folded_again_by_undo() -> None:
    async with showing(box()) as person:
        await person.paste(LONG)
        await person.press("ctrl+t")
        assert person.prompt.text == LONG
        await person.press("ctrl+z")
        assert person.prompt.text == CHIP
        await person.press("enter")
        assert person.app.sent == [LONG]


async def test_a_chip_is_deleted_as_one_and_never_broken() -> None:
    async with showing(box()) as person:
        await person.paste(LONG)
        await person.press("left", "left", "x")
        assert person.prompt.text == f"{CHIP}x"
        await person.press("backspace", "backspace")
        assert person.prompt.text == ""
        await person.press("ctrl+z")
        assert person.prompt.message.startswith(LONG)


async def test_a_sent_chip_is_recalled_in_full() -> None:
    async with showing(box()) as person:
        await person.paste(LONG)
        await person.press("enter", "up")
        assert person.prompt.text == LONG


async def test_nothing_brings_an_empty_chip_back() -> None:
    async with showing(box()) as person:
        await person.paste(LONG)
        await person.press("enter", "ctrl+z")
        assert person.prompt.text == ""


async def test_no_edit_leaves_a_part_of_a_chip() -> None:
    choose = random.Random(7)
    async with showing(box()) as person:
        prompt = person.prompt
        for n in range(200):
            if n % 20 == 0:
                prompt.load_text(prompt._pastes.fold(f"{LONG}{n}", among=""))
                prompt.insert("head\n", (0, 0))
            length = len(prompt.text)
            ends = [prompt.document.get_location_from_index(choose.randint(0, length)) for _ in "ab"]
            prompt.replace(choose.choice(["", "x", "\n"]), *ends)
            assert (
                prompt.text.count("[pasted") == prompt.text.count("lines") == prompt.message.count("line 0\n")
            )
            if choose.random() < 0.3:
                prompt.undo()


@pytest.mark.parametrize(("text", "folded"), [("a\nb", False), ("x" * 1001, True), ("y\n" * 9, True)])
def test_only_long_pastes_are_folded(text: str, folded: bool) -> None:
    assert (Pastes().fold(text, among="") != text) is folded


def test_chips_of_equal_length_differ_also_from_what_was_typed() -> None:
    pastes = Pastes()
    one = pastes.fold(LONG, among=CHIP)
    two = pastes.fold(LONG.upper(), among=CHIP + one)
    assert (one, two) == ("[pasted 312 lines, no. 2]", "[pasted 312 lines, no. 3]")
    assert pastes.unfold(f"{two} {CHIP} {one}") == f"{LONG.upper()} {CHIP} {LONG}"


# Completions


async def test_a_slash_lists_the_commands_with_what_they_do() -> None:
    async with showing(box()) as person:
        await person.type("/re")
        assert "› /regenerate" in person.screen
        assert "another answer to the last question" in person.screen
        assert "Ctrl+R" in person.screen
        await person.press("down", "down", "down", "enter")
        assert person.prompt.text == "/rename "
        assert "› " not in person.screen


async def test_tab_completes_and_enter_then_sends() -> None:
    async with showing(box()) as person:
        await person.type("/regen")
        await person.press("tab")
        assert person.prompt.text == "/regenerate"
        await person.press("enter")
        assert person.app.sent == ["/regenerate"]


@pytest.mark.parametrize(
    ("typed", "sent"),
    [
        ("/regen", ["/regenerate"]),
        ("/REGEN", ["/regenerate"]),
        ("/retr", []),  # another name of it: shown first
        ("/bran", []),  # something may follow
        ("/und", []),  # undo, undelete
        ("@notes", []),
    ],
)
async def test_enter_runs_the_only_command_that_begins_so(typed: str, sent: list[str]) -> None:
    async with showing(box()) as person:
        await person.type(typed)
        await person.press("enter")
        assert person.app.sent == sent
        assert bool(person.prompt.text) != bool(sent)


async def test_esc_closes_the_completions_and_leaves_the_text() -> None:
    async with showing(box()) as person:
        await person.type("/re")
        await person.press("escape")
        assert "/regenerate" not in person.screen
        assert person.prompt.text == "/re"
        await person.type("g")
        assert "/regenerate" in person.screen


@pytest.mark.parametrize("name", ["new", "k", "exit"])
async def test_a_name_in_full_is_sent_by_enter(name: str) -> None:
    async with showing(box()) as person:
        await person.type(f"/{name}")
        await person.press("enter")
        assert person.app.sent == [f"/{name}"]


@pytest.mark.parametrize("text", ["/usr/bin", "//re", "re"])
async def test_what_is_no_command_has_no_completions(text: str) -> None:
    async with showing(box()) as person:
        await person.type(text)
        await person.press("enter")
        assert person.app.sent == [text]


async def test_words_of_an_argument_are_completed() -> None:
    async with showing(box()) as person:
        await person.type("/theme l")
        assert "› light" in person.screen
        await person.press("enter")
        assert person.prompt.text == "/theme light"


async def test_enter_takes_nothing_where_nothing_was_begun() -> None:
    async with showing(box()) as person:
        await person.type("/theme ")
        assert "contrast" in person.screen
        await person.press("enter")
        assert person.app.sent == ["/theme "]


async def test_files_are_completed_anywhere_after_an_at_sign() -> None:
    async with showing(box()) as person:
        await person.type("Read @no")
        await person.press("enter")
        assert person.prompt.text == "Read @notes.txt "
        await person.type("and @한")
        await person.press("tab")
        assert person.prompt.text == 'Read @notes.txt and @"한국어 파일.txt" '
        await person.type("me@no")
        await person.press("enter")
        assert person.app.sent == ['Read @notes.txt and @"한국어 파일.txt" me@no']


async def test_a_folder_goes_on() -> None:
    async with showing(box()) as person:
        await person.type("/attach s")
        await person.press("tab")
        assert person.prompt.text == "/attach src/"


async def test_completions_fit_a_small_screen() -> None:
    async with showing(box(), size=(20, 8)) as person:
        await person.type("/re")
        assert "› /regenerate" in person.screen
        assert person.prompt.text == "/re"
        assert "/re" in person.screen.splitlines()[-2]


async def test_a_click_completes() -> None:
    async with showing(box()) as person:
        await person.type("/reg")
        await person.pilot.click("Popup", offset=(4, 0))
        assert person.prompt.text == "/regenerate"


def test_commands_are_completed_in_the_first_line_alone() -> None:
    assert at("/re", first=True, sources={}).items
    assert not at("/re", first=False, sources={}).items


async def test_undo_of_a_long_text_that_was_typed_in_one_go() -> None:
    async with showing(box()) as person:
        person.prompt.insert("\n".join("x" * 30))
        await person.pilot.pause()
        await person.press("ctrl+z")
        assert person.prompt.text == ""
        await person.press("ctrl+z")
        await person.press("ctrl+y")
        assert person.prompt.text.count("x") == 30
        end = person.prompt.cursor_location
        await person.press("ctrl+y")
        assert person.prompt.cursor_location == end == (29, 1)


@pytest.mark.parametrize("sent", ["\n", "\x1b\r", "\x1b\n", "\x1b[13;2u", "\x1b[13;3u", "\x1b[27;2;13~"])
def test_a_new_line_is_heard_however_a_terminal_sends_it(sent: str) -> None:
    assert inside.amend() == ""
    (key,) = XTermParser().feed(sent)
    assert isinstance(key, events.Key)
    assert key.key in NEWLINE


async def test_what_is_typed_before_the_sent_text_is_taken_stays() -> None:
    async with showing(box()) as person:
        await person.press_at_once("a", "enter", "ctrl+u", "b", "c")
        assert person.app.sent == ["a"]
        assert person.prompt.text == "bc"
