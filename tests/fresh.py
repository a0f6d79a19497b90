"""What caches must equal after any end: a fresh prefill of the committed text."""

from __future__ import annotations

from collections.abc import Sequence

import mlx.core as mx

from mlx_spec import Engine
from mlx_spec.caches import CachedModel
from mlx_spec.checks.paranoid import next_logits
from mlx_spec.drafts.model import ModelDraft


def assert_like_fresh(engine: Engine, tolerance: float = 1e-4) -> None:
    """Target's and source's caches give the logits that a fresh prefill of the committed text gives."""
    session, source = engine.session, engine.source
    rows, tokens = session.target.rows, len(session.committed)
    # Where rows cannot be trimmed, taking tokens back may cost more rows than that.
    assert rows == max(tokens - 1, 0) if session.target.trims else rows <= max(tokens - 1, 0)
    if tokens:
        assert_same_next(session.target, session.committed, tolerance)
    asked = engine.metrics.prompt_tokens and engine.metrics.state != "off"
    if source and asked:
        assert source.in_step(session.committed)
        if isinstance(source, ModelDraft) and tokens:
            assert source._committed == session.committed
            assert_same_next(source.cached, session.committed, tolerance)


def assert_same_next(cached: CachedModel, committed: Sequence[int], tolerance: float = 1e-4) -> None:
    """The cache, which may lag behind `committed`, gives the logits that a fresh one gives where it is."""
    committed = committed[: cached.rows + 1]
    fresh = CachedModel(cached.model, cached.kv_bits, cached.vocabulary)
    fresh.prefill(committed[:-1], chunk=512)
    ours = next_logits(cached, committed)
    assert cached.in_step
    theirs = fresh.forward(mx.array(list(committed[-1:])))[-1]
    assert mx.abs(ours - theirs).max().item() < tolerance
    assert mx.argmax(ours).item() == mx.argmax(theirs).item()
