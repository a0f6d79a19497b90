"""The models in words: those that are here, and pairs that this machine could hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.settings.settings import Settings
from models.amount import in_bytes, in_memory
from models.installed import Installed
from models.stock import Stock


def listed(stock: Stock, settings: Settings) -> Iterator[str]:
    """A line a model, with what to write to have it.

    Args:
        stock: the models.
        settings: of the pair that is loaded.
    """
    models = stock.installed()
    yield f"In use: {settings.model}, draft {settings.draft}."
    yield "On this machine:"
    for model in models:
        facts = (in_bytes(model.size.nbytes) if model.size else "", model.family, model.problem)
        yield f"{model.ref}: {', '.join(filter(None, facts))}"
    offers = _missing(stock, models)
    if offers:
        yield f"To download, for {in_memory(stock.memory)} of memory:"
    for target, draft, words in offers:
        yield f"{words} Write /model {target}, then /draft model:{draft}."
    yield "/model and a name loads it; what is not here is downloaded first. The chat stays."


def _missing(stock: Stock, models: Sequence[Installed]) -> list[tuple[str, str, str]]:
    """Target, draft and what they need, of each pair that is not wholly here."""
    here = {model.ref for model in models if not model.problem}
    return [
        (pair.target.ref, pair.draft.ref, " ".join(pair.sentences(stock.memory)))
        for pair in stock.offers()
        if not here.issuperset(pair.refs)
    ]
