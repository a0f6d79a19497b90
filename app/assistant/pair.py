"""A target and what drafts for it, as the settings name them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from app.settings.settings import Settings

if TYPE_CHECKING:
    from mlx_spec.drafts.base import DraftSource

Progress = Callable[[str], None]
"""Is told what is going on, in sentences."""


@dataclass(frozen=True)
class Pair:
    """A target and what drafts for it.

    Attributes:
        target: from `models.load`.
        source: None without one.
        draft: its name as an option names it.
    """

    target: Any
    source: DraftSource | None
    draft: str


def load_pair(settings: Settings, progress: Progress) -> Pair:
    """Load the target and its draft source.

    Raises:
        SpecError: the models cannot be had or do not fit together.
    """
    from models import load

    return pair_with(load(settings.model, dtype=settings.dtype, progress=progress), settings, progress)


def pair_with(target: Any, settings: Settings, progress: Progress) -> Pair:
    """A target that is loaded, with the draft source that the settings name.

    Raises:
        SpecError: the draft model cannot be had or does not fit the target.
    """
    from mlx_spec import drafts
    from models import load

    draft = "lookup" if settings.draft == "auto" else settings.draft
    kind, _, ref = draft.partition(":")
    if kind != "model":
        return Pair(target, drafts.make(draft, target, settings.engine), draft)
    model = load(ref, dtype=settings.dtype, progress=progress)
    return Pair(target, drafts.model_source(target, model, settings.engine), draft)
