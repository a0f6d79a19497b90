"""Makes docs/screen.svg: the real terminal UI, the embedded model, one answer with its drafts showing.

Run it with `make screenshot`. It decodes at the speed of the machine, so it takes a minute or two.
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from tempfile import TemporaryDirectory

from textual.pilot import Pilot

from app.assistant import Assistant
from app.desk import Desk
from app.offered import first_time
from app.settings import Settings
from app.shelf import Shelf
from app.tui.app import Chat
from app.tui.prompt import Prompt
from app.tui.status import State, StatusLine
from app.worker import Worker

PICTURE = Path(__file__).parent / "screen.svg"
QUESTION = "Fix the spelling: The quik brown fox jumps over the lazy dog, and the quik brown fox runs away."
SETTINGS = Settings(draft="lookup", k=4, max_tokens=96)
PATIENCE = 600  # seconds


async def until(pilot: Pilot[int], *states: State) -> None:
    """Wait for the status line to show one of `states`."""
    async with asyncio.timeout(PATIENCE):
        while pilot.app.query_one(StatusLine).facts.state not in states:
            await pilot.pause(0.1)


async def photograph(app: Chat) -> None:
    """Ask the question, and save the screen when it is answered."""
    async with app.run_test(size=(100, 20)) as pilot:
        await until(pilot, State.READY)
        app.query_one(Prompt).load_text(QUESTION)
        await pilot.press("f2", "enter")
        await until(pilot, State.READING, State.GENERATING)
        await until(pilot, State.READY)
        await pilot.pause(0.5)
        # Without its fonts from elsewhere, the picture asks no other host for anything.
        PICTURE.write_text(re.sub(r"@font-face \{.*?\}\s*", "", app.export_screenshot(), flags=re.DOTALL))


def main() -> None:
    first_time()  # the offer of a better pair would stand before the chat
    with TemporaryDirectory() as folder:
        shelf = Shelf(Path(folder) / "chats.db")
        worker = Worker(Assistant.load, SETTINGS)
        try:
            asyncio.run(photograph(Chat(Desk(worker, shelf))))
        finally:
            worker.close()
            shelf.close()


if __name__ == "__main__":
    main()
