"""A picture of the real screen over the real model:

    python -m app.tui.screenshot OUT.svg [PROMPT ...]

It types each prompt, waits for its answer, and writes what the screen then shows, in SVG.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from app.settings import Settings
from app.tui import loader
from app.tui.app import Chat
from app.tui.prompt import Prompt
from app.tui.status import State
from app.worker import Worker

PROMPTS = (
    "Give me three short tips for writing clear English.",
    "Say the three tips again, word for word.",
)
SIZE = (100, 32)  # columns, rows


async def picture(worker: Worker, prompts: Sequence[str], *, origins: bool, size: tuple[int, int]) -> str:
    """Ask `prompts` one after the other and return the last screen, in SVG.

    Raises:
        RuntimeError: the model could not be loaded, or did not answer.
    """
    app = Chat(worker)
    async with app.run_test(size=size) as pilot:
        for asked, prompt in enumerate(prompts, start=1):
            app.query_one(Prompt).load_text(prompt)
            await pilot.press("enter")
            while len(app.conversation.messages) < 2 * asked:
                if app.facts.state is State.ERROR:
                    raise RuntimeError(app.failure or f"no answer to {prompt!r}")
                await pilot.pause(0.1)
        if origins:
            await pilot.press("f2")
        await pilot.pause(0.2)
        return app.export_screenshot(title="specchat", simplify=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Take the picture."""
    parser = argparse.ArgumentParser(prog="python -m app.tui.screenshot", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("prompts", nargs="*", default=PROMPTS)
    parser.add_argument("--origins", action="store_true", help="show each token's origin, as F2 does")
    arguments = parser.parse_args(argv)
    settings = Settings(model="builtin", draft="lookup", k=4, dtype="float32", max_tokens=256)
    worker = Worker(loader(settings))
    try:
        svg = asyncio.run(picture(worker, arguments.prompts, origins=arguments.origins, size=SIZE))
    finally:
        worker.close()
    arguments.out.write_text(svg, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
