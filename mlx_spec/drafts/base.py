"""The protocol of a draft source: whatever proposes the tokens that the target verifies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import mlx.core as mx

from mlx_spec.law.sampling import Sampler
from mlx_spec.turns.reading import Reading


@dataclass(frozen=True)
class Draft:
    """A proposal of K tokens, possibly fewer than asked for, possibly none.

    Attributes:
        tokens: (K,) uint32 token ids, each one of the target's: MLX reads beyond its weights otherwise.
        laws: (K, V) the laws that `tokens` were really drawn from, or None for a deterministic
            draft. A sampled token, once drawn, must stay: dropping it would bend the law.
    """

    tokens: Any
    laws: Any = None

    def __len__(self) -> int:
        return len(self.tokens)


NOTHING = Draft(mx.array([], dtype=mx.uint32))


class DraftSource(Protocol):
    """What the engine asks of a draft source. It only ever sees committed tokens.

    Attributes:
        name: the word for it in origins (`draft:<name>`), metrics and the user interface.
        free: a proposal costs next to nothing and leaves nothing behind, so that it may be asked for and
            dropped between rounds.
        unable: why it cannot draft at all, as a clause; None if it can.
        context: tokens of text that it can hold, drafts included; None if there is no such limit.
    """

    name: str
    free: bool
    unable: str | None
    context: int | None

    def begin(self, committed: Sequence[int], sampler: Sampler) -> None:
        """Start a generation after `committed` (prompt included). Reuse what an earlier one left.

        Takes no time: what takes time to read waits for `catch_up`.
        """

    @property
    def behind(self) -> int:
        """Committed tokens to read before it proposes; 0 where the proposal itself reads the few."""

    def catch_up(self, reading: Reading) -> None:
        """Read what it is behind, by `reading`: in chunks, and less after a stop."""

    def propose(self, k: int) -> Draft:
        """Propose up to `k` tokens to follow the committed ones. No host synchronization if it can."""

    def commit(self, tokens: Sequence[int], accepted: int) -> None:
        """Take `tokens` as committed; the first `accepted` of them are the last proposal's own."""

    def rewind(self, n: int) -> None:
        """Forget the last `n` committed tokens."""

    def reset(self) -> None:
        """Forget everything: a failure may have left it half way, or its memory is wanted."""

    def in_step(self, committed: Sequence[int]) -> bool:
        """Whether it stands where `committed` does, as far as can be told at no cost."""

    @property
    def nbytes(self) -> int:
        """Memory that the source holds for itself, weights and caches, in bytes."""
