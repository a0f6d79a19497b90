"""What caches must equal after any end: a fresh prefill of the committed text."""

from __future__ import annotations

from collections.abc import Sequence

import mlx.core as mx

from mlx_spec import Engine
from mlx_spec.caches import CachedModel
from mlx_spec.drafts.model import ModelDraft


def assert_like_fresh(engine: Engine, tolerance: float = 1e-4) -> None:
    """Target's and source's caches give the logits that a fresh prefill of the committed text gives."""
    session = engine.session
    assert session.target.rows == len(session.committed) - 1
    assert_same_next(session.target, session.committed, tolerance)
    if isinstance(engine.source, ModelDraft) and engine.metrics.state != "off":
        cached = engine.source._model
        assert engine.source._committed == session.committed
        assert cached.rows <= len(session.committed) - 1
        assert_same_next(cached, session.committed, tolerance)


def assert_same_next(cached: CachedModel, committed: Sequence[int], tolerance: float = 1e-4) -> None:
    """The cache, fed what it lacks of `committed`, gives the logits that a fresh one gives."""
    fresh = CachedModel(cached.model, cached.kv_bits, cached.vocabulary)
    fresh.prefill(committed[:-1], chunk=512)
    rows = cached.rows
    ours = cached.forward(mx.array(committed[rows:]))[-1]
    cached.keep(rows)
    assert cached.in_step
    theirs = fresh.forward(mx.array(committed[-1:]))[-1]
    assert mx.abs(ours - theirs).max().item() < tolerance
    assert mx.argmax(ours).item() == mx.argmax(theirs).item()
