"""A person at the chat screen."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from screenplay import Scripted, desk_for, worker_for
from textual.pilot import Pilot

from app.desk.offered import first_time
from app.tui.app import Chat
from app.tui.prompt.prompt import Prompt
from app.tui.status import State
from app.tui.transcript.transcript import Transcript


class Driver:
    """A person at the screen."""

    def __init__(self, app: Chat, pilot: Pilot[int]) -> None:
        self.app, self.pilot = app, pilot

    @property
    def screen(self) -> str:
        """What the terminal shows."""
        return "\n".join(strip.text for strip in self.app.screen._compositor.render_strips())

    @property
    def state(self) -> State:
        return self.app.stage.facts.state

    @property
    def prompt(self) -> Prompt:
        return self.app.query_one(Prompt)

    @property
    def transcript(self) -> Transcript:
        return self.app.query_one(Transcript)

    async def until(self, condition: Callable[[], bool]) -> None:
        for _ in range(200):
            await self.pilot.pause(0.02)
            if condition():
                return
        raise AssertionError(self.screen)

    async def see(self, *texts: str) -> None:
        await self.until(lambda: all(text in self.screen for text in texts))

    async def ask(self, text: str) -> None:
        self.prompt.load_text(text)
        await self.pilot.press("enter")

    async def loaded(self) -> None:
        await self.until(lambda: self.state is not State.LOADING)


@asynccontextmanager
async def chat(
    assistant: Scripted | Exception,
    *,
    hold: threading.Event | None = None,
    size: tuple[int, int] = (80, 24),
    resume: bool = False,
    saved: bool = True,
    first: bool = False,
) -> AsyncIterator[Driver]:
    """The program from its start to its end.

    With `resume` it begins in the chat of the last time. All can be kept if `saved`. No better pair was
    offered yet if `first`.
    """
    if not first:
        first_time()
    desk = desk_for(worker_for(assistant, hold))
    if resume:
        desk.open(desk.shelf.latest())
    app = Chat(desk)
    try:
        async with app.run_test(size=size, notifications=True) as pilot:
            driver = Driver(app, pilot)
            if hold is None:
                await driver.loaded()
            yield driver
    finally:
        app.stock.close()
        desk.worker.close()
        assert not desk.worker._thread.is_alive()
        desk.wind_up(desk.worker.drain())
        assert (desk.shelf.close() is None) == saved
