"""Plain decoding: one token a forward, pipelined one step ahead so that the device never waits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import mlx.core as mx

from mlx_spec.caches import CachedModel
from mlx_spec.sampling import Sampler


class PlainDecoder:
    """Decodes single tokens; while it is told that more will follow, the next one is already under way.

    Attributes:
        ahead: the next token, drawn and being evaluated, or None. Its predecessor's row is staged.
    """

    def __init__(self, target: CachedModel, sampler: Sampler) -> None:
        self._target = target
        self._sampler = sampler
        self.ahead: mx.array | None = None

    def step(self, committed: Sequence[int], more: bool) -> int:
        """The token after the committed ones.

        Args:
            committed: all tokens so far; the last one's row may be staged already.
            more: start on the token after this one too, before waiting for this one.
        """
        token = self.ahead
        if token is None:
            token = self._sampler.tokens(self._target.forward(mx.array([committed[-1]])), committed)
            mx.async_eval(token)
        self.ahead = None
        if more:
            self.ahead = self._sampler.tokens(self._target.forward(token), committed, token)
            mx.async_eval(self.ahead)
        return cast(int, token.item())
