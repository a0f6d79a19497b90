"""A target and what drafts for it, as the settings name them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from app.settings import Settings

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
    from mlx_spec import drafts
    from models import load

    target = load(settings.model, dtype=settings.dtype, progress=progress)
    draft = "lookup" if settings.draft == "auto" else settings.draft
    kind, _, ref = draft.partition(":")
    if kind != "model":
        return Pair(target, drafts.make(draft, target, settings.engine), draft)
    model = load(ref, dtype=settings.dtype, progress=progress)
    return Pair(target, drafts.model_source(target, model, settings.engine), draft)
