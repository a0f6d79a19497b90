"""Draft sources: one file each, one protocol (base.py), one line each in the registry below."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mlx_spec.drafts.base import DraftSource
from mlx_spec.drafts.lookup import Lookup
from mlx_spec.drafts.model import ModelDraft
from mlx_spec.errors import PairMismatch, SpecError
from mlx_spec.options import EngineOptions
from mlx_spec.text import first_difference, vocabulary

# Sources that need nothing but the target.
_SOURCES: dict[str, Callable[[Any, EngineOptions], DraftSource]] = {
    "lookup": lambda target, options: Lookup(),
    "self": lambda target, options: ModelDraft(
        "self", target.model, options, vocabulary=vocabulary(target), shares_weights=True
    ),
}


def make(name: str, target: Any, options: EngineOptions) -> DraftSource | None:
    """The draft source called `name`, or None for "none".

    Args:
        name: "none", "lookup" or "self".
        target: what the engine will verify with (`.model`).
        options: of the same engine.
    """
    if name == "none":
        return None
    if name not in _SOURCES:
        known = ", ".join(["none", *_SOURCES, "model:REF"])
        raise SpecError(f"There is no draft source called {name!r}.", f"Choose one of {known}.")
    return _SOURCES[name](target, options)


def model_source(target: Any, draft: Any, options: EngineOptions) -> DraftSource:
    """A draft model as source for `target`; both have `.model`, `.tokenizer` and `.info`.

    Raises:
        PairMismatch: their token ids do not mean the same.
    """
    if difference := first_difference(target.tokenizer, draft.tokenizer):
        raise PairMismatch(
            f"{draft.info.name} cannot draft for {target.info.name}: {difference}.",
            "Choose a draft model with the target's tokenizer, or --draft lookup.",
        )
    wanted = vocabulary(target)
    if (rows := vocabulary(draft)) < wanted:
        raise PairMismatch(
            f"{draft.info.name} cannot draft for {target.info.name}: it knows {rows} of the {wanted} tokens.",
            "Choose another draft model, or --draft lookup.",
        )
    context = draft.info.context_length
    return ModelDraft("model", draft.model, options, vocabulary=wanted, context=context)
