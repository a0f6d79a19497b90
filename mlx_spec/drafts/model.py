"""A model as draft source: it decodes K tokens ahead with its own KV cache."""

from __future__ import annotations

from collections.abc import Sequence

import mlx.core as mx
import mlx.nn as nn

from mlx_spec.caches import CachedModel, parameter_bytes
from mlx_spec.drafts.base import Draft
from mlx_spec.options import EngineOptions
from mlx_spec.sampling import Sampler
from mlx_spec.session import common_prefix


class ModelDraft:
    """Drafts with `model`: the tokens that plain decoding with it would give, or draws from its warped law.

    The cache may lag behind the committed tokens (after plain steps, after a fully accepted draft):
    the next proposal reads all that is missing in one forward.
    """

    def __init__(
        self,
        name: str,
        model: nn.Module,
        options: EngineOptions,
        *,
        vocabulary: int,
        shares_weights: bool = False,
    ) -> None:
        """Args:
        name: for origins and metrics.
        model: an mlx-lm model; its token ids mean what the target's mean.
        options: the engine's.
        vocabulary: tokens that the target knows, whose laws it needs.
        shares_weights: the model is the target itself, so its weights cost no memory.
        """
        self.name = name
        self._model = CachedModel(model, options.kv_bits, vocabulary)
        self.unable = self._model.cannot_roll_back
        self._chunk = options.prefill_chunk
        self._weights = 0 if shares_weights else parameter_bytes(model)
        self._committed: list[int] = []
        self._proposed = 0

    def begin(self, committed: Sequence[int], sampler: Sampler) -> None:
        self._sampler = sampler
        shared = common_prefix(self._committed, committed)
        self._committed = list(committed)
        self._model.restore(min(shared, len(committed) - 1))
        self._model.prefill(committed[self._model.rows : -1], self._chunk)
        self._model.mark()

    def propose(self, k: int) -> Draft:
        tokens: list[mx.array] = []
        laws: list[mx.array] = []
        rows = mx.array(self._committed[self._model.rows :], dtype=mx.uint32)
        for _ in range(k):
            logits = self._model.forward(rows)[-1:]
            drafted = mx.concatenate(tokens) if tokens else None
            if self._sampler.coupled:
                rows = self._sampler.tokens(logits, self._committed, drafted)
            else:
                law = self._sampler.laws(logits, self._committed, drafted)
                # A broken model gives no law; any other will do, if it is the one that is drawn from.
                law = mx.where(mx.isnan(law), 1 / law.shape[-1], law)
                rows = self._sampler.dice.draw(law)
                laws.append(law)
            tokens.append(rows)
            mx.async_eval(rows)
        self._proposed = k
        return Draft(mx.concatenate(tokens), mx.concatenate(laws) if laws else None)

    def commit(self, tokens: Sequence[int], accepted: int) -> None:
        # Of the last proposal's k tokens the first k - 1 have a row; those of rejected ones go.
        if self._proposed:
            before_proposal = self._model.rows - (self._proposed - 1)
            self._model.keep(before_proposal + min(accepted, self._proposed - 1))
            self._proposed = 0
        self._committed.extend(tokens)
        self._model.restore(len(self._committed) - 1)

    def rewind(self, n: int) -> None:
        if n:
            del self._committed[-n:]
            self._model.restore(len(self._committed) - 1)

    def reset(self) -> None:
        self._model.reset()
        self._committed, self._proposed = [], 0

    @property
    def nbytes(self) -> int:
        return self._weights + self._model.kv_bytes
