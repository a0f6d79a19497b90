"""The committed tokens of one conversation and the target's cache of them, across chat turns.

Invariant between rounds: the cache holds every committed token but the last. That one, the pending
token, is row 0 of the next forward.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlx_spec.caches import CachedModel
from mlx_spec.turns.reading import Reading, prompt_marks


def common_prefix(a: Sequence[int], b: Sequence[int]) -> int:
    """Length of the longest common prefix of two token sequences."""
    for i, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return i
    return min(len(a), len(b))


class Session:
    """What the target has committed to so far."""

    def __init__(self, target: CachedModel) -> None:
        self.target = target
        self.committed: list[int] = []

    def begin(self, prompt: Sequence[int]) -> int:
        """Start a turn: go back to what `prompt` shares with the committed text.

        Args:
            prompt: token ids, at least one.

        Returns:
            How many rows of the prompt the cache holds. Committed is one token more: the pending one.
        """
        if self.target.rows:
            self.target.mark()  # the end of a turn: where an edit of the next one goes back to
        shared = min(common_prefix(self.committed, prompt), len(prompt) - 1)
        reused = self.target.restore(shared)
        self.committed = list(prompt[: reused + 1])
        return reused

    def read(self, prompt: Sequence[int], reading: Reading) -> list[int]:
        """Read the rest of `prompt` and commit it; after a stop, as much of it as was read.

        Returns:
            The rows at which forwards ended.
        """
        marks = prompt_marks(self.target, len(prompt))
        ends = reading.read(self.target, prompt[self.target.rows : -1], marks)
        self.committed = list(prompt[: self.target.rows + 1])
        return ends

    def commit(self, tokens: Sequence[int]) -> None:
        """Append `tokens`."""
        self.committed.extend(tokens)

    def rewind(self, n: int) -> None:
        """Forget the last `n` committed tokens."""
        if n:
            del self.committed[-n:]

    def settle(self) -> None:
        """Restore the invariant after a round or at an end: a row for every committed token but the last."""
        # Where nothing can be taken back the cache ends up empty: the next turn reads its prompt afresh.
        self.target.restore(max(len(self.committed) - 1, 0))

    def reset(self) -> None:
        """Forget everything."""
        self.committed = []
        self.target.reset()
