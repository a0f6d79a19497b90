"""The draft source of one answer: kept in step, and asked where the controller wants it and it has room."""

from __future__ import annotations

import time
from collections.abc import Sequence

from mlx_spec.drafts.base import Draft, DraftSource
from mlx_spec.errors import BrokenInvariant
from mlx_spec.law.sampling import Sampler
from mlx_spec.measuring.witness import Witness
from mlx_spec.policy.auto import AutoK
from mlx_spec.policy.controller import FixedK, Off
from mlx_spec.turns.reading import Reading


class Drafter:
    """A draft source under a controller. Without a source, or while that is off, K is 0 and nothing is done.

    Attributes:
        source: the draft source, or None if it takes no part.
        stood_down: why it is asked no more in this answer, or None.
    """

    def __init__(self, source: DraftSource | None, controller: AutoK | FixedK | Off) -> None:
        """Args:
        source: may be None.
        controller: names K round by round.
        """
        self.source = source if controller.state != "off" else None
        self.stood_down: str | None = None
        self._controller = controller
        self._witness: Witness | None = None
        if source is not None and source.free and isinstance(controller, AutoK):
            self._witness = Witness(source, controller)

    def begin(self, prompt: Sequence[int], sampler: Sampler) -> None:
        """Start an answer after `prompt`."""
        if self.source:
            self.source.begin(prompt, sampler)
        self._controller.begin(len(prompt), self.behind)

    @property
    def behind(self) -> int:
        """Committed tokens that the source must read before it can be asked."""
        return self.source.behind if self.source else 0

    def k(self, tokens: int, left: int) -> int:
        """Draft tokens for the next round; none once the source is full, for the whole answer.

        Args:
            tokens: committed so far.
            left: that the answer may still have.
        """
        k = min(self._controller.next_k(), left - 1)
        if k <= 0 or self.source is None or self.stood_down:
            return 0
        context = self.source.context
        if context is not None and tokens + k > context:
            self.stood_down = f"the draft model's context of {context} tokens is full"
            return 0
        return k

    def catch_up(self, reading: Reading) -> tuple[int, float]:
        """Let the source read what it needs for the next round.

        It reads when it is about to be asked and never before: reading costs the time of a second
        prompt, which no proposal may ever pay back. That may be in mid-answer, where the stream halts
        for it; it is still the same time, and a stop is heard after each chunk.

        Returns:
            Tokens read, and the seconds it took.
        """
        behind = self.behind
        if not self.source or not behind:
            return 0, 0.0
        before = time.perf_counter()
        self.source.catch_up(reading)
        return behind - self.behind, time.perf_counter() - before

    def propose(self, k: int) -> Draft:
        """Up to `k` tokens, where `k` named at least one.

        Raises:
            ValueError: the source proposed more.
        """
        assert self.source is not None
        draft = self.source.propose(k)
        if len(draft) > k:
            raise ValueError(f"{self.source.name} proposed {len(draft)} tokens instead of at most {k}")
        return draft

    def commit(self, tokens: list[int], accepted: int, dropped: int) -> None:
        """Commit a step's tokens.

        Args:
            tokens: up to the answer's end.
            accepted: how many of them, from the first, the source had proposed.
            dropped: how many of them, from the last, are taken back again.
        """
        if self.source:
            self.source.commit(tokens, accepted)
            self.source.rewind(dropped)
        if self._witness:
            self._witness.commit(tokens)

    def rewind(self, n: int) -> None:
        """Forget the last `n` committed tokens."""
        if self.source:
            self.source.rewind(n)

    def check(self, committed: Sequence[int]) -> None:
        """Find out at once, not answers later, that the source has lost the committed text.

        Raises:
            BrokenInvariant: it has.
        """
        if self.source and not self.source.in_step(committed):
            raise BrokenInvariant(
                f"the draft source {self.source.name} is out of step after {len(committed)} tokens"
            )
