"""The acceptance rules: which drafted tokens stand, and which token follows them.

Each rule is written once over an array namespace `xp`: MLX runs it lazily on the device, and the
exact tests run the same lines over numpy arrays of Fractions with an enumerating source of
randomness.

Shapes: K drafted tokens, V tokens in the vocabulary. Row i < K of the target is its law after i
drafted tokens; row K is its law after all of them.
"""

from __future__ import annotations

from typing import Any

from mlx_spec.sampling import Dice

Array = Any  # mx.array, or a numpy array of Fractions in the exact tests


def leading(kept: Array, xp: Any) -> Array:
    """How many entries of the boolean array `kept` (K,) are true before the first that is not."""
    return xp.cumprod(kept.astype(xp.int32)).sum()


def match(drawn: Array, drafted: Array, xp: Any) -> tuple[Array, Array]:
    """Sample-and-match: the target's own draws decide.

    Draw y_i from each target row; a drafted token stands while y_i is that token. Exact for any
    draft that does not depend on the target's draws. With argmax rows it is the greedy rule.

    Args:
        drawn: (K+1,) one token drawn from each target row.
        drafted: (K,) the drafted tokens.

    Returns:
        accepted n, and the token after them: row n's own draw.
    """
    n = leading(drawn[:-1] == drafted, xp)
    return n, xp.take(drawn, n)


def rejection_table(p: Array, q: Array, drafted: Array, xp: Any) -> tuple[Array, Array]:
    """Token-wise rejection sampling (Leviathan et al. 2023, arXiv 2211.17192, algorithm 1).

    Args:
        p: (K+1, V) the target's laws.
        q: (K, V) the laws that the drafted tokens were really drawn from.
        drafted: (K,) the drafted tokens, so q[i, drafted[i]] > 0.

    Returns:
        accept (K,): min(1, p/q) of each drafted token.
        follow (K+1, V): the law of the token after exactly i acceptances: norm((p - q)+), and p
        itself (the bonus) in row K.
    """
    at = drafted[:, None]
    p_drafted = xp.take_along_axis(p[:-1], at, axis=-1)[:, 0]
    q_drafted = xp.take_along_axis(q, at, axis=-1)[:, 0]
    accept = xp.minimum(p_drafted / xp.where(q_drafted > 0, q_drafted, 1), 1)

    surplus = xp.maximum(p[:-1] - q, 0)
    total = surplus.sum(axis=-1, keepdims=True)
    # p == q leaves no surplus; the row is then never used, since everything is accepted.
    residual = xp.where(total > 0, surplus / xp.where(total > 0, total, 1), p[:-1])
    return accept, xp.concatenate([residual, p[-1:]])


def reject(p: Array, q: Array, drafted: Array, dice: Dice, xp: Any) -> tuple[Array, Array]:
    """Play token-wise rejection with `dice`: accepted n, and the correction or bonus token."""
    accept, follow = rejection_table(p, q, drafted, xp)
    n = leading(dice.flip(accept), xp)
    return n, dice.draw(xp.take(follow, n, axis=0)[None])[0]
