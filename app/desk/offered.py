"""A better pair than the embedded model: said once, below an answer, by what that answer told of the speed.

Nothing is asked and nothing waits for it. A machine on which larger models would crawl is offered none.
"""

from __future__ import annotations

from app.settings.settings import Settings
from app.thread.events import Snapshot
from models import locations
from models.amount import in_bytes, in_memory
from models.stock import Stock

LEAST = 4.0  # tokens a second below which nobody wants to read along


def better_pair(stock: Stock, settings: Settings, now: Snapshot) -> str | None:
    """A sentence about the largest pair that this machine holds and runs, or None; never twice.

    A token takes at most as much longer as there are more weights to read: that bounds the speed from
    below, since what a small model's step costs besides does not grow.

    Args:
        stock: the models.
        settings: whoever has chosen a model already is told nothing.
        now: at the end of an answer.
    """
    if settings.model != "builtin" or not now.tok_s or not now.target_bytes:
        return None
    for pair in stock.offers():
        tok_s = now.tok_s * now.target_bytes / pair.target.nbytes
        if tok_s >= LEAST and first_time():
            size = in_bytes(pair.target.nbytes + pair.draft.nbytes)
            return (
                f"This machine has {in_memory(stock.memory)} of memory and holds a better pair: "
                f"{pair.target.name}, with drafts by {pair.draft.name} ({size} to download, by its size at "
                f"least {tok_s:.0f} tokens/s here). /model shows it and others. Nothing is downloaded "
                "unless you choose it."
            )
    return None


def first_time() -> bool:
    """Whether nobody asked this before, on this machine; from now on it is False.

    Where that cannot be kept, nothing is offered: better never than at each start.
    """
    file = locations.data_dir() / "offered"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.open("x").close()  # of several processes that ask, one makes it
    except OSError:
        return False
    return True
