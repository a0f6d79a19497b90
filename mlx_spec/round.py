"""One speculative round: draft, verify, accept.

Works on anything that maps tokens to logits, so the exact tests drive these lines with toy models.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mlx_spec.drafts.base import Draft
from mlx_spec.errors import NotFinite
from mlx_spec.law import acceptance
from mlx_spec.law.sampling import Sampler


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


def verify(
    committed: Sequence[int],
    draft: Draft,
    forward: Callable[[Any], Any],
    sampler: Sampler,
    rule: Callable[..., tuple[Any, Any]] = acceptance.block,
) -> Outcome:
    """Verify `draft` after the committed tokens in one target forward.

    Args:
        committed: all tokens so far; the last one is pending, not yet in the target's KV cache.
        draft: K >= 1 proposed tokens.
        forward: (K+1,) token ids to (K+1, V) target logits; it stages K+1 rows in the KV cache.
        sampler: the target's sampling.
        rule: what judges a sampled draft; `acceptance.reject` is the token-wise reference.

    Returns:
        The outcome, after the round's one host synchronization. Rolling the cache back to the
        accepted rows is the caller's.

    Raises:
        NotFinite: some logits are NaN.
    """
    xp = sampler.xp
    logits = forward(xp.concatenate([xp.array(committed[-1:], dtype=xp.uint32), draft.tokens]))
    if draft.laws is None or sampler.coupled:
        n, token = acceptance.match(sampler.tokens(logits, committed, draft.tokens), draft.tokens, xp)
    else:
        laws = sampler.laws(logits, committed, draft.tokens)
        n, token = rule(laws, draft.laws, draft.tokens, sampler.dice, xp)
    unsound = sampler.unsound(logits)
    ids = [draft.tokens.astype(xp.uint32), *(one.astype(xp.uint32)[None] for one in (n, token, unsound))]
    *drafted, accepted, following, broken = xp.concatenate(ids).tolist()
    if broken:
        raise NotFinite
    return Outcome(drafted, accepted, following)
