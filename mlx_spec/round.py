"""One speculative round: draft, verify, accept.

Works on anything that maps tokens to logits, so the exact tests drive these lines with toy models.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mlx_spec.drafts.base import Draft
from mlx_spec.errors import NotFinite
from mlx_spec.events import Details, Drafted, Token
from mlx_spec.law import acceptance, seen
from mlx_spec.law.sampling import Sampler
from mlx_spec.law.seen import Seen


@dataclass(frozen=True)
class Outcome:
    """What one round decided.

    Attributes:
        drafted: every drafted token, accepted or not.
        accepted: how many of them stand, n.
        token: the one after them: a correction (n < K) or the bonus (n = K).
        seen: what the target held of them, if that was asked for.
    """

    drafted: list[int]
    accepted: int
    token: int
    seen: Seen | None = None

    @property
    def emitted(self) -> list[int]:
        return [*self.drafted[: self.accepted], self.token]


def verify(
    committed: Sequence[int],
    draft: Draft,
    forward: Callable[[Any], Any],
    sampler: Sampler,
    rule: Callable[..., tuple[Any, Any]] = acceptance.block,
    details: bool = False,
) -> Outcome:
    """Verify `draft` after the committed tokens in one target forward.

    Args:
        committed: all tokens so far; the last one is pending, not yet in the target's KV cache.
        draft: K >= 1 proposed tokens.
        forward: (K+1,) token ids to (K+1, V) target logits; it stages K+1 rows in the KV cache.
        sampler: the target's sampling.
        rule: what judges a sampled draft; `acceptance.reject` is the token-wise reference.
        details: take what the target held of the drafts too, on the same wait.

    Returns:
        The outcome, after the round's one host synchronization. Rolling the cache back to the
        accepted rows is the caller's.

    Raises:
        NotFinite: some logits are NaN.
    """
    xp = sampler.xp
    logits = forward(xp.concatenate([xp.array(committed[-1:], dtype=xp.uint32), draft.tokens]))
    rows = sampler.rows(logits, committed, draft.tokens)
    drawn = None
    if draft.laws is None or sampler.coupled:
        drawn = sampler.choose(rows, len(committed))
        n, token = acceptance.match(drawn, draft.tokens, xp)
    else:
        n, token = rule(rows, draft.laws, draft.tokens, sampler.dice, xp)
    unsound = sampler.unsound(logits)
    ids = [draft.tokens.astype(xp.uint32), *(one.astype(xp.uint32)[None] for one in (n, token, unsound))]
    if details:
        ids += seen.take(rows, draft, n, token, sampler, drawn if sampler.greedy else None)
    read, k = xp.concatenate(ids).tolist(), len(draft)
    accepted, following, broken = read[k : k + 3]
    if broken:
        raise NotFinite
    return Outcome(read[:k], accepted, following, Seen.of(read[k + 3 :], k, sampler) if details else None)


def details_of(outcome: Outcome, seen: Seen, text: Callable[[int], str], *, greedy: bool) -> Details:
    """A round for a reader.

    Args:
        outcome: of the round.
        seen: what the target held of its drafts.
        text: of a token id.
        greedy: whether scores decided and not a law.
    """
    likeliest = [Token(i, text(i), p) for i, p in zip(seen.preferred, seen.preferred_p, strict=True)]
    drafted = tuple(
        Drafted(token, text(token), p, seen.q[i] if seen.q else None, likeliest[i])
        for i, (token, p) in enumerate(zip(outcome.drafted, seen.p, strict=True))
    )
    token = Token(outcome.token, text(outcome.token), seen.token_p)
    return Details(drafted, token, likeliest[outcome.accepted], "softmax" if greedy else "warped")
