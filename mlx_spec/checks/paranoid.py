"""Caches compared with a fresh reading of the committed text: slow, and sure to find what went wrong first.

A draft source's wrong cache is otherwise seen by nothing: it costs acceptance, and the text stays right.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import cast

import mlx.core as mx

from mlx_spec.caches import CachedModel
from mlx_spec.drafts.base import DraftSource
from mlx_spec.drafts.model import ModelDraft
from mlx_spec.errors import CacheMismatch
from mlx_spec.turns.session import Session

# How far a logit may lie from a fresh one's, as a share of the largest: rows that were read in other
# blocks round otherwise, and in a quantized cache one more or less of its steps.
TOLERANCE = {mx.float32: 1e-3, mx.float16: 2e-2, mx.bfloat16: 1e-1}
QUANTIZED = 1e-1


class Paranoid:
    """Compares the logits of the next token, which all rows of a cache have a part in."""

    def __init__(self, chunk: int) -> None:
        """Args:
        chunk: tokens a forward of the fresh reading.
        """
        self._chunk = chunk

    def check(self, session: Session, source: DraftSource | None) -> None:
        """Compare target and source between two rounds.

        Raises:
            CacheMismatch: one of them does not hold the committed text.
        """
        self._compare("target", session.target, session.committed)
        if isinstance(source, ModelDraft):
            self._compare("draft model", source.cached, session.committed)

    def _compare(self, who: str, cached: CachedModel, committed: Sequence[int]) -> None:
        text = committed[: cached.rows + 1]  # a cache may lag behind
        ours = next_logits(cached, text)
        fresh = CachedModel(cached.model, cached.kv_bits, cached.vocabulary)
        fresh.prefill(text[:-1], self._chunk)
        theirs = fresh.forward(mx.array(list(text[-1:])))[-1]
        if mx.isnan(theirs).any().item():
            return  # a broken model, whatever its cache holds
        dtype = theirs.dtype
        ours, theirs = ours.astype(mx.float32), theirs.astype(mx.float32)
        share = max(TOLERANCE[dtype], QUANTIZED if cached.kv_bits else 0.0)
        tolerance = share * max(1.0, _number(mx.abs(theirs).max()))
        difference = _number(mx.abs(ours - theirs).max())
        # A token that another one overtakes by more than rounding can explain is a difference by itself.
        loss = _number(theirs.max() - theirs[mx.argmax(ours)])
        if not (difference <= tolerance and loss <= tolerance):  # NaN is a difference
            kinds = ", ".join(sorted({type(layer).__name__ for layer in cached.layers}))
            raise CacheMismatch(
                f"After {len(text)} tokens the {who}'s cache ({kinds}) gives logits that differ from a "
                f"fresh reading's by {difference:.3g}, where {tolerance:.3g} could be rounding.",
                "This is a bug in the engine: please report it.",
            )


def _number(array: mx.array) -> float:
    return cast(float, array.item())


def next_logits(cached: CachedModel, text: Sequence[int]) -> mx.array:
    """(V,) logits of the token after `text`, with the cache left as it is.

    Args:
        cached: holds rows for all tokens of `text` but the last.
        text: token ids.
    """
    rows, pending = cached.rows, mx.array(list(text[-1:]))
    if cached.cannot_roll_back:
        cached = copy.copy(cached)
        cached.layers = copy.deepcopy(cached.layers)
        return cached.forward(pending)[-1]
    logits = cached.forward(pending)[-1]
    mx.eval(logits)
    cached.keep(rows)
    return logits
