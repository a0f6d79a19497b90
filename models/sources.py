"""What could draft for a target, and why the rest could not: told from files, before anything is loaded.

Loading decides in the end (`mlx_spec.drafts.model_source`): it compares the tokenizers themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from mlx_spec.text import first_difference
from models import vocabulary
from models.amount import in_bytes
from models.errors import ModelError
from models.installed import Installed
from models.need import CONTEXT, Need, need
from models.vocabulary import Vocabulary

# Model types that cannot take rejected drafts back, or compute several rows otherwise than one: the ones
# of docs/families.md that stand down.
STAND_DOWN = {
    "deepseek_v41": "its cache cannot take rejected drafts back",
    "phi3small": "mlx-lm computes several of its rows otherwise than one",
    "plamo3": "mlx-lm computes several of its rows otherwise than one",
}


@dataclass(frozen=True)
class Source:
    """A draft source for one target.

    Attributes:
        draft: as --draft takes it.
        name: for people.
        note: what it is, or what it costs; a sentence.
        reason: why it cannot draft for this target; empty if it can.
        need: of the pair, in memory; None if it is not known.
    """

    draft: str
    name: str
    note: str = ""
    reason: str = ""
    need: Need | None = None


def sources(target: Installed, models: Iterable[Installed]) -> list[Source]:
    """What could draft for `target`: lookup, then models that fit, none at all, then those that do not fit.

    Reads tables of tokens, so it may take a while: not for the UI's thread.

    Args:
        target: that verifies.
        models: to choose draft models from; the target itself is left out.
    """
    alone = target.need
    down = STAND_DOWN.get(target.family, "")
    stood_down = f"{target.name} cannot verify drafts: {down}." if down else ""
    lookup = Source(
        "lookup", "lookup", "Copies from the text so far: no weights, no memory.", stood_down, alone
    )
    none = Source("none", "none", "Plain decoding.", "", alone)
    drafts = list(_drafts(target, (model for model in models if model.ref != target.ref), stood_down))
    vocabulary.forget()
    fit = sorted((source for source in drafts if not source.reason), key=_weight)
    return [lookup, *fit, none, *(source for source in drafts if source.reason)]


def _weight(source: Source) -> float:
    return source.need.weights if source.need else 0.0


def _drafts(target: Installed, models: Iterable[Installed], stood_down: str) -> Iterator[Source]:
    table, unread = _table(target)
    for model in models:
        reason = stood_down or unread or unfit(target, table, model)
        size = model.size
        yield Source(
            f"model:{model.ref}",
            model.name,
            f"A draft model of {in_bytes(size.nbytes)} ({size.storage.name})." if size else "",
            reason,
            _need_of(target, model),
        )


def unfit(target: Installed, table: Vocabulary | None, model: Installed) -> str:
    """Why `model` cannot draft for `target`, a sentence; empty if nothing speaks against it.

    Args:
        target: that verifies.
        table: of the target's tokens; None where its files do not tell.
        model: that would draft.
    """
    if model.problem:
        return model.problem
    if down := STAND_DOWN.get(model.family):
        return f"It cannot draft: {down}."
    if target.size and model.size and model.size.read >= target.size.read:
        return (
            f"It reads {in_bytes(model.size.read)} for a token, and the target {in_bytes(target.size.read)}: "
            "drafting with it would only cost time."
        )
    ours, unread = _table(model)
    if unread:
        return unread
    if table is None or ours is None:
        return "" if table is ours is None and target.family == model.family else _UNTOLD
    if table.fingerprint != ours.fingerprint:
        return f"Its tokens are others: {_difference(table, ours)}."
    wanted = min(target.rows or table.size, table.size)
    if (rows := min(model.rows or ours.size, ours.size)) < wanted:
        return f"It knows {rows:,} of the target's {wanted:,} tokens."
    return ""


@lru_cache(maxsize=256)
def _difference(target: Vocabulary, draft: Vocabulary) -> str | None:
    return first_difference(target, draft)


_UNTOLD = "Its files do not tell whether its tokens are the target's."


def _table(model: Installed) -> tuple[Vocabulary | None, str]:
    """The table of a model's tokens, and a sentence if its file is damaged."""
    try:
        return model.vocabulary(), ""
    except ModelError as error:
        return None, error.message
    except OSError as error:
        return None, f"The tokenizer of {model.name} cannot be read ({error.strerror or error})."


def _need_of(target: Installed, model: Installed) -> Need | None:
    if target.size is None or model.size is None:
        return None
    contexts = [each.context or CONTEXT for each in (target, model)]
    return need([target.size, model.size], min(CONTEXT, *contexts))
