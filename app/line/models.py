"""The models in words: those that are here, and pairs that this machine could hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.desk.offered import first_time
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


def offer(stock: Stock, settings: Settings) -> str:
    """At the very first start with the embedded model, that there is a better pair; otherwise nothing."""
    if settings.model != "builtin" or not stock.offers() or not first_time():
        return ""
    return (
        "The embedded model is small and works at once. "
        f"This machine has {in_memory(stock.memory)} of memory and holds a better pair: /model lists what "
        "there is. Nothing is downloaded unless you choose it."
    )


def _missing(stock: Stock, models: Sequence[Installed]) -> list[tuple[str, str, str]]:
    """Target, draft and what they need, of each pair that is not wholly here."""
    here = {model.ref for model in models if not model.problem}
    return [
        (pair.target.ref, pair.draft.ref, " ".join(pair.sentences(stock.memory)))
        for pair in stock.offers()
        if not here.issuperset(pair.refs)
    ]
