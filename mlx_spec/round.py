"""One speculative round: draft, verify, accept.

Works on anything that maps tokens to logits, so the exact tests drive these lines with toy models.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mlx_spec import acceptance
from mlx_spec.drafts.base import Draft
from mlx_spec.sampling import Sampler


@dataclass(frozen=True)
class Outcome:
    """What one round decided.

    Attributes:
        drafted: every drafted token, accepted or not.
        accepted: how many of them stand, n.
        token: the one after them: a correction (n < K) or the bonus (n = K).
    """

    drafted: list[int]
    accepted: int
    token: int

    @property
    def emitted(self) -> list[int]:
        return [*self.drafted[: self.accepted], self.token]


def verify(pending: int, draft: Draft, forward: Callable[[Any], Any], sampler: Sampler) -> Outcome:
    """Verify `draft` after the pending token in one target forward.

    Args:
        pending: the last committed token, not yet in the target's KV cache.
        draft: K >= 1 proposed tokens.
        forward: (K+1,) token ids to (K+1, V) target logits; it stages K+1 rows in the KV cache.
        sampler: the target's sampling.

    Returns:
        The outcome, after the round's one host synchronization. Rolling the cache back to the
        accepted rows is the caller's.
    """
    xp = sampler.xp
    logits = forward(xp.concatenate([xp.array([pending], dtype=xp.uint32), draft.tokens]))
    if draft.laws is None or sampler.greedy:
        n, token = acceptance.match(sampler.tokens(logits), draft.tokens, xp)
    else:
        n, token = acceptance.reject(sampler.laws(logits), draft.laws, draft.tokens, sampler.dice, xp)
    ids = [draft.tokens.astype(xp.uint32), n.astype(xp.uint32)[None], token.astype(xp.uint32)[None]]
    *drafted, accepted, following = xp.concatenate(ids).tolist()
    return Outcome(drafted, accepted, following)
