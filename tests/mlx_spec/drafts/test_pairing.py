"""Which draft model may draft for which target."""

from __future__ import annotations

from types import SimpleNamespace

import mlx.core as mx
import pytest
from tiny import VOCAB, tiny_loaded, tiny_tokenizer

from mlx_spec import Engine, Limits, Sampling, drafts
from mlx_spec.errors import PairMismatch
from mlx_spec.law.sampling import Sampler
from mlx_spec.options import EngineOptions


@pytest.mark.parametrize("rows", [(VOCAB, VOCAB + 23), (VOCAB + 40, VOCAB + 80), (VOCAB + 40, VOCAB)])
@pytest.mark.parametrize("temperature", [0.0, 1.0, 1e30])
def test_rows_without_a_token_are_never_drafted_or_sampled(rows, temperature):
    """Case c11, both ways round."""
    target, draft = tiny_loaded(vocab=rows[0], seed=1), tiny_loaded(vocab=rows[1], seed=2)
    engine = Engine(target, drafts.model_source(target, draft, EngineOptions()), k=3)
    events = list(
        engine.generate([5, 6, 7], Sampling(temperature=temperature, seed=1), Limits(max_tokens=48))
    )
    assert all(token < VOCAB for event in events for token in event.tokens)
    assert engine.metrics.drafted > 0


def test_a_draft_model_that_lacks_tokens_is_refused():
    target, draft = tiny_loaded(), tiny_loaded(vocab=VOCAB - 9)
    with pytest.raises(PairMismatch, match=f"it knows {VOCAB - 9} of the {VOCAB} tokens"):
        drafts.model_source(target, draft, EngineOptions())


def test_other_token_tables_are_refused_with_the_first_difference():
    """Case c12, but for the offer of a cross-tokenizer source."""
    target = tiny_loaded("llama")
    other = SimpleNamespace(get_vocab=lambda: {**tiny_tokenizer().get_vocab(), "the": 260, "zz": 259})
    draft = SimpleNamespace(model=target.model, tokenizer=other, info=SimpleNamespace(name="other"))
    with pytest.raises(PairMismatch, match=r"id \d+ is '.*' in the target and '.*' in the draft"):
        drafts.model_source(target, draft, EngineOptions())


def test_a_broken_draft_model_drafts_from_a_law_all_the_same():
    target, draft = tiny_loaded("llama", seed=1), tiny_loaded("llama", seed=2)
    draft.model.model.norm.weight = draft.model.model.norm.weight * mx.nan
    source = drafts.model_source(target, draft, EngineOptions())
    source.begin([5, 6, 7], Sampler(Sampling(temperature=1.0, seed=1)))
    laws = source.propose(3).laws
    assert mx.allclose(laws.sum(axis=-1), mx.ones(3), atol=1e-5)
