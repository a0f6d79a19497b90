"""Which draft model may draft for which target."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from tiny import VOCAB, tiny_loaded, tiny_tokenizer

from mlx_spec import Engine, Limits, Sampling, drafts
from mlx_spec.errors import PairMismatch
from mlx_spec.options import EngineOptions


@pytest.mark.parametrize("rows", [VOCAB - 9, VOCAB, VOCAB + 23])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_another_number_of_output_rows_is_padding(rows, temperature):
    """Case c11, both ways round."""
    target, draft = tiny_loaded("llama", seed=1), tiny_loaded("llama", vocab=rows, seed=2)
    engine = Engine(target, drafts.model_source(target, draft, EngineOptions()), k=3)
    events = list(
        engine.generate([5, 6, 7], Sampling(temperature=temperature, seed=1), Limits(max_tokens=24))
    )
    assert all(token < VOCAB for event in events for token in event.tokens)
    assert engine.metrics.drafted > 0


def test_other_token_tables_are_refused_with_the_first_difference():
    """Case c12, but for the offer of a cross-tokenizer source."""
    target = tiny_loaded("llama")
    other = SimpleNamespace(get_vocab=lambda: {**tiny_tokenizer().get_vocab(), "the": 260, "zz": 259})
    draft = SimpleNamespace(model=target.model, tokenizer=other, info=SimpleNamespace(name="other"))
    with pytest.raises(PairMismatch, match=r"id \d+ is '.*' in the target and '.*' in the draft"):
        drafts.model_source(target, draft, EngineOptions())
