"""A draft source that replays a recorded answer, with errors where a test wants them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import mlx.core as mx

from mlx_spec.drafts.base import Draft
from mlx_spec.law.sampling import Sampler
from mlx_spec.turns.reading import Reading


class Recorded:
    """Proposes the recorded answer's next tokens; at the positions in `wrong`, another token.

    Attributes:
        text: the whole recorded text: prompt and answer.
    """

    name = "recorded"
    free = True
    nbytes = 0
    behind = 0
    unable = None
    context = None

    def __init__(self, text: Sequence[int], wrong: Collection[int] = ()) -> None:
        self.text = [token ^ 1 if i in wrong else token for i, token in enumerate(text)]
        self._at = 0

    def begin(self, committed: Sequence[int], sampler: Sampler) -> None:
        self._at = len(committed)

    def catch_up(self, reading: Reading) -> None:
        pass

    def propose(self, k: int) -> Draft:
        return Draft(mx.array(self.text[self._at : self._at + k], dtype=mx.uint32))

    def commit(self, tokens: Sequence[int], accepted: int) -> None:
        self._at += len(tokens)

    def rewind(self, n: int) -> None:
        self._at -= n

    def in_step(self, committed: Sequence[int]) -> bool:
        return self._at == len(committed)

    def reset(self) -> None:
        self._at = 0
