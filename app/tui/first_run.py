"""The first start with the embedded model: one offer of a better pair, and never again."""

from __future__ import annotations

from app.offered import first_time
from app.settings import Settings
from app.tui.question import Answer, Question
from models.amount import in_bytes, in_memory
from models.offer import NOT_KNOWN
from models.stock import Stock

MOST = 3  # pairs that are offered


def question(stock: Stock, settings: Settings) -> Question | None:
    """The offer, or None if there is nothing to offer or it was offered before. Closes with an `Offer`.

    Args:
        stock: the models.
        settings: whoever has chosen a model already is not asked.
    """
    pairs = stock.offers()[:MOST]
    if settings.model != "builtin" or not pairs or not first_time():
        return None
    sentences = [
        "The embedded model is small and works at once. "
        f"This machine has {in_memory(stock.memory)} of memory and holds a better pair.",
        "Nothing is downloaded unless you choose it. Later: /model.",
    ]
    answers = [
        Answer("Stay with the embedded model", False),
        *(
            Answer(
                f"{pair.target.name}, {pair.draft.name} drafts",
                pair,
                in_bytes(sum(part.nbytes for part in (pair.target, pair.draft))),
                " ".join([*pair.sentences(stock.memory)[1:], NOT_KNOWN]),
            )
            for pair in pairs
        ),
    ]
    return Question("A better pair", sentences, answers)
