"""Makes docs/gallery.md and its pictures: the real terminal UI, the embedded model, its own answers.

Run it with `make gallery`. Every answer is decoded while one waits, so it takes some minutes. Nothing in the
pictures is of the person who runs it: home, working folder and clock are the program's own. Only costs that
earlier runs measured on this machine are taken along: it may be too busy to be measured now.
"""

from __future__ import annotations

import asyncio
import contextlib
import html
import os
import re
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.cells import cell_len
from textual.geometry import Size
from textual.pilot import Pilot

from app.chats.store import Store
from app.desk.desk import Desk
from app.desk.offered import first_time
from app.desk.opening import load
from app.desk.shelf import Shelf
from app.files.reading import read
from app.settings.settings import Settings
from app.thread.worker import Worker
from app.tui.app import Chat
from app.tui.sheets.chats import Chats
from app.tui.status import State
from bench.environment import conditions, environment
from docs.scenes import (
    CHATS,
    CODE,
    FILE,
    NOON,
    QUOTE,
    REPEAT,
    RULES,
    SCENES,
    SEARCH,
    SHORT,
    page,
)
from models import locations

DOCS = Path(__file__).parent
SETTINGS = Settings(max_tokens=160, details=True)
PATIENCE = 900  # seconds
FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
LENGTH = re.compile(r'(<text [^>]*textLength=")([\d.]+)("[^>]*>)([^<]+)')
FRAME = '<rect fill="#292929"'  # the window that is drawn around the screen


def portable(svg: str, ground: str) -> str:
    """The picture as any browser shows it, without asking another host for anything.

    Args:
        svg: as the screen's library draws it, with fonts from elsewhere, and one cell for each character.
        ground: colour of the window around the screen.
    """
    return LENGTH.sub(_in_cells, FONTS.sub("", svg).replace(FRAME, f'<rect fill="{ground}"', 1))


def _in_cells(found: re.Match[str]) -> str:
    before, length, after, text = found.groups()
    shown = html.unescape(text)
    return f"{before}{float(length) * cell_len(shown) / len(shown):g}{after}{text}"


class Tour:
    """A person who goes through the screens and photographs them."""

    def __init__(self, app: Chat, pilot: Pilot[int]) -> None:
        self.app, self.pilot = app, pilot

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for something to be so."""
        async with asyncio.timeout(PATIENCE):
            while not condition():
                await self.pilot.pause(0.1)

    async def measured(self) -> None:
        """Wait for the model, and for the costs of this machine."""
        await self.until(lambda: self.app.stage.facts.state is State.READY)
        await self.until(self._knows_costs)  # or knows that the machine is too busy

    def _knows_costs(self) -> bool:
        now = self.app.stage.facts.snapshot
        return bool(now and (now.spoilt or (now.verdict and now.verdict.facts.get("verify_cost"))))

    async def say(self, text: str) -> None:
        """Send a line."""
        self.app.stage.prompt.load_text(text)
        await self.pilot.press("enter")
        await self.pilot.pause(0.2)

    async def ask(self, text: str) -> None:
        """Send a question and wait for the whole answer."""
        said = len(self.app.desk.conversation.path)
        await self.say(text)
        await self.until(lambda: len(self.app.desk.conversation.path) > said and not self.app.desk.busy)
        await self.pilot.pause(1)  # for what it copied

    async def photograph(self, name: str) -> None:
        """Save the screen."""
        size = Size(*SCENES[name].size)
        await self.pilot.resize_terminal(*size)
        await self.until(lambda: self.app.screen.size == size)
        await self.pilot.pause(0.5)
        ground = str(self.app.theme_variables["background"])
        svg = portable(self.app.export_screenshot(), ground if ground.startswith("#") else "#292929")
        (DOCS / "gallery" / f"{name}.svg").write_text(svg, encoding="utf-8")
        sys.stderr.write(f"{name}\n")

    async def in_one_chat(self) -> None:
        """An answer, and what was measured meanwhile."""
        await self.ask(CODE)
        await self.photograph("chat")
        await self.photograph("panel")
        await self.pilot.press("f8")
        await self.photograph("why")
        await self.pilot.press("f7")
        await self.photograph("timeline")
        await self.pilot.press("escape")

    async def with_a_file(self) -> None:
        """A copy of a file's lines."""
        await self.pilot.press("ctrl+n")
        # By its name alone: a whole path would show where this is run.
        self.app.desk.tray.files = [replace(read(FILE), path=FILE)]
        await self.ask(QUOTE)
        await self.photograph("copied")

    async def with_drafts(self) -> None:
        """A fixed K, so that there are drafts to look at even where they do not pay."""
        await self.pilot.press("ctrl+n")
        await self.say("/k 4")
        await self.ask(REPEAT)
        await self.pilot.press("f2")
        await self.photograph("tokens")
        await self.pilot.press("f2", "f6", "R")
        await self.photograph("rounds")
        await self.pilot.press("escape")

    async def over_the_chat(self) -> None:
        """Lists that open over it."""
        self.app.stage.prompt.load_text("")
        await self.pilot.press(*"/re")
        await self.photograph("completion")
        self.app.stage.prompt.load_text("")
        await self.pilot.press("ctrl+p", *"copy")
        await self.photograph("palette")
        await self.pilot.press("escape")
        await self.say("/model")
        await self.photograph("models")
        await self.pilot.press("escape")
        with kept_chats(Path("other.db")) as store:
            self.app.push_screen(Chats(store, str, today=lambda: NOON))
            await self.photograph("chats")
            await self.pilot.press("slash")
            self.app.screen.query_one("Input").value = SEARCH
            await self.photograph("search")
            await self.pilot.press("escape", "escape")
        await self.say("/theme light")
        await self.pilot.pause(5)  # until what that said has gone
        await self.photograph("light")
        await self.say("/theme dark")
        await self.pilot.pause(5)
        await self.photograph("narrow")


@contextlib.contextmanager
def kept_chats(file: Path) -> Iterator[Store]:
    """A store with the chats of the picture, at hours that are always the same."""
    hours = iter(range(len(CHATS), 0, -1))
    now = NOON

    def clock() -> float:
        return now.timestamp()

    with contextlib.closing(Store.open(file, clock=clock)) as store:
        for title, question, answer, pinned in CHATS:
            now = NOON - timedelta(hours=5 * next(hours))
            chat = store.create(title, "builtin", "lookup")
            asked = store.add(chat.id, parent=None, role="user", text=question)
            store.add(chat.id, parent=asked.id, role="assistant", text=answer)
            store.pin(chat.id, pinned)
        yield store


@contextlib.asynccontextmanager
async def at_the_screen(shelf: Shelf) -> AsyncIterator[Tour]:
    """The program from its start to its end."""
    worker = Worker(load, SETTINGS)
    app = Chat(Desk(worker, shelf))
    try:
        async with app.run_test(size=SCENES["chat"].size) as pilot:
            yield Tour(app, pilot)
    finally:
        app.stock.close()
        worker.close()
        app.desk.wind_up(worker.drain())


async def all_screens(shelf: Shelf) -> None:
    """The embedded model as it is stored: a session in colour, and one without."""
    async with at_the_screen(shelf) as person:
        await person.measured()
        await person.in_one_chat()
        await person.with_a_file()
        await person.with_drafts()
        await person.over_the_chat()
    os.environ["NO_COLOR"] = "1"
    async with at_the_screen(shelf) as person:
        await person.measured()
        await person.ask(SHORT)
        await person.photograph("no-color")


@contextlib.contextmanager
def guest() -> Iterator[Shelf]:
    """A home and a working folder of the program's own, with what this machine's costs are."""
    with TemporaryDirectory() as folder, contextlib.chdir(folder):
        known = locations.cache_dir() / "measurements"
        os.environ["SPECCHAT_HOME"] = folder
        if known.exists():
            shutil.copytree(known, locations.cache_dir() / "measurements")
        Path(FILE).write_text(RULES, encoding="utf-8")
        first_time()  # the offer of a better pair would stand before the chat
        shelf = Shelf(Path("chats.db"))
        try:
            yield shelf
        finally:
            shelf.close()


def main() -> None:
    """Make pictures and page."""
    busy = conditions()["load"]
    with guest() as shelf:
        asyncio.run(all_screens(shelf))
    (DOCS / "gallery.md").write_text(page(environment(), busy), encoding="utf-8")


if __name__ == "__main__":
    main()
