"""Prompt lookup: propose what followed the last occurrence of the current ending.

The longest n-gram that occurred before wins, and its most recent occurrence. A continuation that
runs into the present goes on with its own proposal, so a repeating pattern is proposed at any length.

A long match promises more than a short one, so a draft has at most so many tokens as the match has times
the *reach*. That follows what became of the drafts of the answer: it halves when a draft's first token
fails and doubles when all stand. SuffixDecoding (arXiv 2411.04975) ties the length to the match, too.
"""

from __future__ import annotations

from collections.abc import Sequence

import mlx.core as mx

from mlx_spec.drafts.base import NOTHING, Draft
from mlx_spec.law.sampling import Sampler
from mlx_spec.turns.reading import Reading
from mlx_spec.turns.session import common_prefix

LONGEST = 5
SHORTEST = 2
FARTHEST = 8  # reach that an answer begins with, and the largest one; the smallest is 1


class Lookup:
    """An n-gram index over the committed tokens, kept token by token."""

    name = "lookup"
    free = True
    nbytes = 0
    behind = 0
    unable: str | None = None
    context: int | None = None

    def __init__(self, longest: int = LONGEST, shortest: int = SHORTEST) -> None:
        self._sizes = range(longest, shortest - 1, -1)
        self.reset()

    def reset(self) -> None:
        self._tokens: list[int] = []
        # Where each n-gram was last continued: the position of the token after it.
        self._continued: dict[tuple[int, ...], int] = {}
        # For each token, what its arrival replaced in the index: taking it back is exact.
        self._replaced: list[list[tuple[tuple[int, ...], int | None]]] = []
        self._reach = FARTHEST
        self._awaited: list[int] = []  # the latest draft, and how many of its tokens came true so far
        self._met = 0

    def begin(self, committed: Sequence[int], sampler: Sampler) -> None:
        self._reach, self._awaited = FARTHEST, []
        shared = common_prefix(self._tokens, committed)
        self.rewind(len(self._tokens) - shared)
        self.commit(committed[shared:], 0)

    def catch_up(self, reading: Reading) -> None:
        """It is never behind."""

    def propose(self, k: int) -> Draft:
        start = self._longest_match()
        if start is None:
            return NOTHING
        continuation = self._tokens[start:]
        period, length = len(continuation), min(k, self._reach * self._matched(start, k))
        self._awaited, self._met = [continuation[i % period] for i in range(length)], 0
        return Draft(mx.array(self._awaited, dtype=mx.uint32))

    def commit(self, tokens: Sequence[int], accepted: int) -> None:
        for token in tokens:
            self._learn(token)
            here = len(self._tokens)
            replaced = []
            for n in self._sizes:
                if n <= here:
                    gram = tuple(self._tokens[here - n :])
                    replaced.append((gram, self._continued.get(gram)))
                    self._continued[gram] = here
            self._replaced.append(replaced)
            self._tokens.append(token)

    def _learn(self, token: int) -> None:
        """Adapt the reach to what became of the latest draft."""
        if not self._awaited:
            return
        if token != self._awaited[self._met]:
            if not self._met:
                self._reach = max(1, self._reach // 2)
            self._awaited = []
        elif self._met + 1 == len(self._awaited):
            self._reach, self._awaited = min(FARTHEST, 2 * self._reach), []
        else:
            self._met += 1

    def rewind(self, n: int) -> None:
        if n:
            self._awaited = []
        for _ in range(n):
            self._tokens.pop()
            for gram, before in self._replaced.pop():
                if before is None:
                    del self._continued[gram]
                else:
                    self._continued[gram] = before

    def in_step(self, committed: Sequence[int]) -> bool:
        return len(self._tokens) == len(self._replaced) == len(committed)

    def _matched(self, start: int, k: int) -> int:
        """Tokens before `start` that equal those at the end, as far as it matters to a draft of k."""
        tokens, n = self._tokens, 1
        while n * self._reach < k and n < start and tokens[start - 1 - n] == tokens[-1 - n]:
            n += 1
        return n

    def _longest_match(self) -> int | None:
        for n in self._sizes:
            if n < len(self._tokens):
                start = self._continued.get(tuple(self._tokens[-n:]))
                if start is not None:
                    return start
        return None
