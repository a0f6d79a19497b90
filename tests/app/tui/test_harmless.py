"""Texts of others: whatever shows them, nothing in them reaches the terminal as a command."""

from __future__ import annotations

import json
from pathlib import Path

from driver import Driver, chat
from rich.text import Text
from screenplay import Scripted, rounds
from showing import showing
from textual.app import RenderResult
from textual.widget import Widget

EVIL = "\x1b]52;c;aGk=\x07\x1b[2J\x9b31m\x7f"


class Careless(Widget):
    """Draws what it has."""

    DEFAULT_CSS = "Careless { height: 1; }"

    def render(self) -> RenderResult:
        return Text(f"red{EVIL}\ud800 wide 한 end")


def exported(folder: Path) -> Path:
    """A chat of somebody else."""
    said = [
        {"id": 1, "parent": None, "role": "user", "state": "done", "created": 1.0, "text": f"Q{EVIL}"},
        {"id": 2, "parent": 1, "role": "assistant", "state": "done", "created": 1.0, "text": f"A{EVIL}"},
    ]
    chat = {"format": "specchat chat", "version": 1, "title": f"T{EVIL}", "created": 1.0, "updated": 1.0}
    rest = {"pinned": False, "model": "m", "draft": "d", "head": 2, "files": [], "messages": said}
    file = folder / "theirs.json"
    file.write_text(json.dumps(chat | rest), encoding="utf-8")
    return file


def harmless(screen: str) -> bool:
    return all(char == "\n" or char.isprintable() or char.isspace() for char in screen)


async def test_no_widget_can_draw_a_control_character() -> None:
    async with showing(Careless()) as person:
        assert harmless(person.screen)
        assert "red]52;c;aGk=[2J31m\ufffd wide 한 end" in person.screen


async def test_a_chat_of_somebody_else_commands_the_terminal_nowhere(tmp_path: Path) -> None:
    async with chat(Scripted([rounds("First.")])) as driver:
        await driver.ask(f"/import {exported(tmp_path)}")
        await driver.see("Imported", "A␛]52", "\\x9b31m")
        for done, seen in (
            ("/undo", "“Q␛]52"),
            ("/redo", "A␛]52"),
            ("/edit", "│ Q␛]52"),
            ("escape", "Ask something"),
            ("ctrl+o", "T␛]52"),
            ("r", "T␛]52"),
            ("escape", "r rename"),
            ("escape", "Ask something"),
            ("/delete", "Deleted"),
            ("/undelete", "is back"),
        ):
            await (driver.ask(done) if done.startswith("/") else driver.pilot.press(done))
            await driver.see(seen)
            assert harmless(driver.screen), done
    async with chat(Scripted(), resume=True) as driver:
        await driver.pilot.press("up")
        await driver.see("│ Q␛]52")
        assert harmless(driver.screen)


def toasts(driver: Driver) -> list[str]:
    return [notification.message for notification in driver.app._notifications]


async def test_the_program_has_one_voice() -> None:
    async with chat(Scripted([rounds("First.")])) as driver:
        for command in ("/undo", "/redo", "/copy", "/k", "/k"):
            await driver.ask(command)
        await driver.see("K is auto.")
        assert toasts(driver) == ["K is auto."]
        await driver.pilot.press("ctrl+o")
        await driver.see("Chats")
        assert toasts(driver) == [], "nothing lies over a list"


async def test_what_shows_is_not_said() -> None:
    async with chat(Scripted([rounds("One."), rounds("Two.")])) as driver:
        await driver.ask("Alpha")
        await driver.see("One.", "○ ready")
        first = driver.app.desk.shelf.open_id()
        await driver.ask("/regenerate")
        await driver.see("Two.", "○ ready")
        for command in ("/branch", "/new", f"/open {first}"):
            await driver.ask(command)
            await driver.pilot.pause()
            assert toasts(driver) == [], command


async def test_what_is_refused_is_said_in_a_few_lines_however_long_it_was() -> None:
    async with chat(Scripted()) as driver:
        await driver.ask(f"/{'x' * 5000}")
        await driver.see("There is no command", "before it.")
        assert len(toasts(driver)[0]) < 310
