"""A model as draft source: it decodes K tokens ahead with its own KV cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mlx.core as mx
import mlx.nn as nn

from mlx_spec.caches import CachedModel, parameter_bytes
from mlx_spec.drafts.base import Draft
from mlx_spec.errors import UnsupportedCache
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
        vocabulary: Any = None,
        shares_weights: bool = False,
    ) -> None:
        """Args:
        name: for origins and metrics.
        model: an mlx-lm model; its token ids mean what the target's mean.
        options: the engine's.
        vocabulary: the target's model, whose number of logits the laws must have; None if it is the same.
        shares_weights: the model is the target itself, so its weights cost no memory.

        Raises:
            UnsupportedCache: the model's cache cannot take rejected drafts back.
        """
        self.name = name
        self._model = CachedModel(model, options.kv_bits)
        if reason := self._model.cannot_roll_back:
            raise UnsupportedCache(f"It cannot draft: {reason}.", "Choose --draft lookup.")
        self._chunk = options.prefill_chunk
        self._width = output_width(vocabulary) if vocabulary is not None else None
        self._weights = 0 if shares_weights else parameter_bytes(model)
        self._committed: list[int] = []
        self._proposed = 0

    def begin(self, committed: Sequence[int], sampler: Sampler) -> None:
        self._sampler = sampler
        shared = common_prefix(self._committed, committed)
        self._committed = list(committed)
        self._model.keep(min(shared, len(committed) - 1))
        self._model.prefill(committed[self._model.rows : -1], self._chunk)

    def propose(self, k: int) -> Draft:
        tokens: list[mx.array] = []
        laws: list[mx.array] = []
        rows = mx.array(self._committed[self._model.rows :], dtype=mx.uint32)
        for _ in range(k):
            logits = self._fit(self._model.forward(rows)[-1:])
            drafted = mx.concatenate(tokens) if tokens else None
            if self._sampler.coupled:
                rows = self._sampler.tokens(logits, self._committed, drafted)
            else:
                law = self._sampler.laws(logits, self._committed, drafted)
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
        self._model.keep(len(self._committed) - 1)

    def rewind(self, n: int) -> None:
        if n:
            del self._committed[-n:]
            self._model.keep(len(self._committed) - 1)

    @property
    def nbytes(self) -> int:
        return self._weights + self._model.kv_bytes

    def _fit(self, logits: mx.array) -> mx.array:
        """Give `logits` (M, V') the target's V columns: the ids beyond the shared table are padding."""
        if self._width is None or logits.shape[-1] == self._width:
            return logits
        if logits.shape[-1] > self._width:
            return logits[:, : self._width]
        padding = mx.full((logits.shape[0], self._width - logits.shape[-1]), -mx.inf, logits.dtype)
        return mx.concatenate([logits, padding], axis=-1)


def output_width(model: Any) -> int:
    """How many logits a forward of `model` gives a token."""
    return model(mx.array([[0]])).shape[-1]
