"""A screen with a few widgets and nothing behind them, and a person at it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalGroup
from textual.keys import _character_to_key
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

from app.tui.prompt.prompt import Prompt
from app.tui.terminal.terminal import TerminalApp


class Bare(TerminalApp):
    """Widgets below an empty space, as in the chat."""

    CSS = "#space { height: 1fr; }"

    def __init__(self, widgets: Iterable[Widget]) -> None:
        super().__init__()
        self._widgets = list(widgets)
        self.results: list[Any] = []  # of screens
        self.sent: list[str] = []  # by the prompt

    def compose(self) -> ComposeResult:
        yield Static(id="space")
        with VerticalGroup():
            yield from self._widgets

    def on_prompt_sent(self, message: Prompt.Sent) -> None:
        self.sent.append(message.text)
        self.query_one(Prompt).accept()


class Person:
    """Someone at the keyboard, who sees what the terminal shows."""

    def __init__(self, app: Bare, pilot: Pilot[int]) -> None:
        self.app, self.pilot = app, pilot

    @property
    def screen(self) -> str:
        return "\n".join(strip.text for strip in self.app.screen._compositor.render_strips())

    @property
    def prompt(self) -> Prompt:
        return self.app.screen_stack[0].query_one(Prompt)

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def type(self, text: str) -> None:
        """Type as fast as one never could: nothing may depend on a pause between keys."""
        for letter in text:
            key = "ctrl+j" if letter == "\n" else _character_to_key(letter)
            self.app.post_message(events.Key(key, letter))
        await self.pilot.pause()

    async def press_at_once(self, *keys: str) -> None:
        """All before the first is taken in, as on a machine that is busy."""
        for key in keys:
            self.app.post_message(events.Key(key, key if len(key) == 1 else None))
        await self.pilot.pause()

    async def paste(self, text: str) -> None:
        self.app.post_message(events.Paste(text))
        await self.pilot.pause()

    async def open(self, screen: Screen[Any]) -> None:
        self.app.push_screen(screen, self.app.results.append)
        await self.pilot.pause()


@asynccontextmanager
async def showing(*widgets: Widget, size: tuple[int, int] = (80, 24)) -> AsyncIterator[Person]:
    async with Bare(widgets).run_test(size=size) as pilot:
        person = Person(pilot.app, pilot)  # type: ignore[arg-type]
        for prompt in person.app.query(Prompt):
            prompt.focus()
        await pilot.pause()
        yield person
