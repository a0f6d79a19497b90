"""Help and the palette show the table of commands, and close with the one that is to run."""

from __future__ import annotations

import pytest
from showing import showing

from app.desk.commands import BY_NAME, COMMANDS, GROUPS, KEYS, key_name
from app.tui.sheets.help import Help, Palette


async def test_typing_finds_and_enter_runs() -> None:
    async with showing() as person:
        await person.open(Palette())
        await person.type("time")
        assert "› /timeline" in person.screen
        await person.press("enter")
        assert person.app.results == [BY_NAME["timeline"]]


async def test_arrows_choose_and_esc_closes_without_a_choice() -> None:
    async with showing() as person:
        await person.open(Palette())
        await person.press("down", "down")
        assert f"› /{COMMANDS[2].name}" in person.screen
        await person.press("escape")
        assert person.app.results == [None]


async def test_a_summary_stands_below_the_list_only_where_its_row_has_no_room_for_it() -> None:
    summary = BY_NAME["why"].summary
    for size in ((80, 24), (30, 24)):
        async with showing(size=size) as person:
            await person.open(Palette())
            await person.type("why")
            await person.pilot.pause()
            assert " ".join(person.screen.replace("│", " ").split()).count(summary) == 1, person.screen


async def test_what_nothing_goes_with_is_said_and_not_run() -> None:
    async with showing() as person:
        await person.open(Palette())
        await person.type("zzz")
        assert "Nothing goes with that." in person.screen
        await person.press("enter")
        assert person.app.results == []


async def test_help_lists_every_command_and_key() -> None:
    async with showing(size=(100, 90)) as person:
        await person.open(Help())
        for command in COMMANDS:
            assert command.usage[:28] in person.screen
            assert command.summary[:36] in person.screen
            assert key_name(command.key) in person.screen
        for key in KEYS:
            assert f"{key_name(key.key)} " in person.screen
        assert set(GROUPS) == {command.group for command in COMMANDS}


async def test_help_finds_keys_too_and_does_not_run_them() -> None:
    async with showing() as person:
        await person.open(Help())
        await person.type("backslash")
        assert "› Ctrl+J" in person.screen
        await person.press("enter")
        assert person.app.results == []


async def test_the_end_of_help_is_one_key_up() -> None:
    async with showing() as person:
        await person.open(Help())
        await person.press("up")
        assert f"› {key_name(KEYS[-1].key)}" in person.screen
        await person.press("down")
        assert "This chat" in person.screen


@pytest.mark.parametrize("size", [(80, 24), (20, 8)])
async def test_the_choice_shows_without_colour_on_any_screen(
    size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with showing(size=size) as person:
        await person.open(Help())
        await person.press("down", "down", "down")
        assert f"› /{COMMANDS[3].name}" in person.screen
        assert COMMANDS[3].summary[:13] in person.screen


async def test_a_click_runs() -> None:
    async with showing() as person:
        await person.open(Palette())
        await person.pilot.click("Menu", offset=(4, 1))
        assert person.app.results == [COMMANDS[1]]
