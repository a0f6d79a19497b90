"""Plain decoding: one token a forward, pipelined one step ahead so that the device never waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import mlx.core as mx

from mlx_spec.caches import CachedModel
from mlx_spec.errors import NotFinite
from mlx_spec.law.sampling import Sampler


@dataclass(frozen=True)
class Step:
    """One step under way.

    Attributes:
        token: (1,) the token that it draws.
        unsound: whether it draws from what is no law.
    """

    token: mx.array
    unsound: mx.array


class PlainDecoder:
    """Decodes single tokens; while it is told that more will follow, the next one is already under way.

    Attributes:
        ahead: the next step, being evaluated, or None. Its predecessor's row is staged.
    """

    def __init__(self, target: CachedModel, sampler: Sampler) -> None:
        self._target = target
        self._sampler = sampler
        self.ahead: Step | None = None

    def step(self, committed: Sequence[int], more: bool) -> int:
        """The token after the committed ones.

        Args:
            committed: all tokens so far; the last one's row may be staged already.
            more: start on the token after this one too, before waiting for this one.

        Raises:
            NotFinite: the model's logits are NaN.
        """
        step = self.ahead or self._start(mx.array([committed[-1]]), committed)
        self.ahead = self._start(step.token, committed, step.token) if more else None
        token = cast(int, step.token.item())
        if step.unsound.item():  # evaluated with the token: no second wait
            raise NotFinite
        return token

    def _start(self, pending: mx.array, committed: Sequence[int], drawn: mx.array | None = None) -> Step:
        logits = self._target.forward(pending)
        step = Step(self._sampler.tokens(logits, committed, drawn), self._sampler.unsound(logits))
        mx.async_eval(step.token, step.unsound)
        return step
