"""A model as draft source: it decodes K tokens ahead with its own KV cache."""

from __future__ import annotations

from collections.abc import Sequence

import mlx.core as mx
import mlx.nn as nn

from mlx_spec.caches import CachedModel, parameter_bytes
from mlx_spec.drafts.base import Draft
from mlx_spec.law.sampling import Sampler
from mlx_spec.options import EngineOptions
from mlx_spec.turns.reading import Reading, prompt_marks
from mlx_spec.turns.session import common_prefix


class ModelDraft:
    """Drafts with `model`: the tokens that plain decoding with it would give, or draws from its warped law.

    The cache may lag behind the committed tokens: after plain steps, after a fully accepted draft, and by
    a whole prompt. It reads only when it is about to be asked, in chunks, so that a source that is never
    asked costs nothing; a few tokens are read with the next proposal's first forward.
    """

    free = False
    FEW = 16  # tokens that a proposal's own first forward still reads

    def __init__(
        self,
        name: str,
        model: nn.Module,
        options: EngineOptions,
        *,
        vocabulary: int,
        context: int | None = None,
        shares_weights: bool = False,
    ) -> None:
        """Args:
        name: for origins and metrics.
        model: an mlx-lm model; its token ids mean what the target's mean.
        options: the engine's.
        vocabulary: tokens that the target knows, whose laws it needs.
        context: tokens that the model was made for; None if at least as many as the target.
        shares_weights: the model is the target itself, so its weights cost no memory.
        """
        self.name = name
        self.cached = CachedModel(model, options.kv_bits, vocabulary)
        self.unable = self.cached.cannot_roll_back
        self.context = context
        self._weights = 0 if shares_weights else parameter_bytes(model)
        self._committed: list[int] = []
        self._proposed = 0

    def begin(self, committed: Sequence[int], sampler: Sampler) -> None:
        self._sampler = sampler
        if self.cached.rows:
            self.cached.mark()
        self.cached.restore(min(common_prefix(self._committed, committed), len(committed) - 1))
        self._committed = list(committed)
        self._marks = prompt_marks(self.cached, len(committed))

    @property
    def behind(self) -> int:
        lag = len(self._committed) - 1 - self.cached.rows
        return lag if lag > self.FEW else 0

    def catch_up(self, reading: Reading) -> None:
        if self.behind:
            reading.read(self.cached, self._committed[self.cached.rows : -1], self._marks)

    def propose(self, k: int) -> Draft:
        tokens: list[mx.array] = []
        laws: list[mx.array] = []
        rows = mx.array(self._committed[self.cached.rows :], dtype=mx.uint32)
        for _ in range(k):
            logits = self.cached.forward(rows)[-1:]
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
            before_proposal = self.cached.rows - (self._proposed - 1)
            self.cached.keep(before_proposal + min(accepted, self._proposed - 1))
            self._proposed = 0
        self._committed.extend(tokens)
        self.cached.restore(len(self._committed) - 1)

    def rewind(self, n: int) -> None:
        if n:
            del self._committed[-n:]
            self.cached.restore(max(len(self._committed) - 1, 0))

    def reset(self) -> None:
        self.cached.reset()
        self._committed, self._proposed = [], 0

    def in_step(self, committed: Sequence[int]) -> bool:
        return len(self._committed) == len(committed) and self.cached.rows <= max(len(committed) - 1, 0)

    @property
    def nbytes(self) -> int:
        return self._weights + self.cached.kv_bytes
