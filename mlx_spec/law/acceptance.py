"""The acceptance rules: which drafted tokens stand, and which token follows them.

Each rule is written once over an array namespace `xp`: MLX runs it lazily on the device, and the
exact tests run the same lines over numpy arrays of Fractions with an enumerating source of
randomness.

Shapes: K drafted tokens, V tokens in the vocabulary. Row i < K of the target is its law after i
drafted tokens; row K is its law after all of them.
"""

from __future__ import annotations

from typing import Any

from mlx_spec.law.noise import Dice

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
    accept = xp.minimum(_ratios(p, q, drafted, xp), 1)
    surplus = xp.maximum(p[:-1] - q, 0)
    return accept, xp.concatenate([_normal(surplus, p[:-1], xp), p[-1:]])


def reject(p: Array, q: Array, drafted: Array, dice: Dice, xp: Any) -> tuple[Array, Array]:
    """Play token-wise rejection with `dice`: accepted n, and the correction or bonus token."""
    accept, follow = rejection_table(p, q, drafted, xp)
    n = leading(dice.flip(accept), xp)
    return n, dice.draw(xp.take(follow, n, axis=0)[None])[0]


def block_table(p: Array, q: Array, drafted: Array, xp: Any) -> tuple[Array, Array]:
    """Block verification (Sun et al. 2024, arXiv 2403.10444, algorithm 2).

    Judges the draft as a whole: the longest beginning whose own coin falls well stands, so a later
    token can save an earlier one. It never accepts less than token-wise rejection.

    Args:
        p: (K+1, V) the target's laws.
        q: (K, V) the laws that the drafted tokens were really drawn from.
        drafted: (K,) the drafted tokens.

    Returns:
        stand (K,): h_1 .. h_K, the probability of the coin of the beginning of length i.
        follow (K+1, V): the law of the token after exactly i acceptances: norm((p_i p - q)+), and p
        itself (the bonus) in row K.
    """
    ratios = _ratios(p, q, drafted, xp)
    weights = [xp.ones_like(ratios[0])]  # p_0 .. p_K of the paper
    for i in range(len(drafted)):
        weights.append(xp.minimum(weights[-1] * ratios[i], 1))
    weight = xp.stack(weights)

    surplus = xp.maximum(weight[:-1, None] * p[:-1] - q, 0)
    reached = surplus.sum(axis=-1)[1:]  # S_1 .. S_{K-1}
    whole = reached + 1 - weight[1:-1]
    # Nothing reached and nothing missing: the laws are equal there, so what was drafted stands.
    stand = xp.where(whole > 0, reached / xp.where(whole > 0, whole, 1), 1)
    return xp.concatenate([stand, weight[-1:]]), xp.concatenate([_normal(surplus, p[:-1], xp), p[-1:]])


def block(p: Array, q: Array, drafted: Array, dice: Dice, xp: Any) -> tuple[Array, Array]:
    """Play block verification with `dice`: accepted n, and the correction or bonus token."""
    stand, follow = block_table(p, q, drafted, xp)
    lengths = xp.arange(1, len(drafted) + 1)
    n = (dice.flip(stand) * lengths).max()
    return n, dice.draw(xp.take(follow, n, axis=0)[None])[0]


def _ratios(p: Array, q: Array, drafted: Array, xp: Any) -> Array:
    """(K,) p/q at each drafted token."""
    at = drafted[:, None]
    p_drafted = xp.take_along_axis(p[:-1], at, axis=-1)[:, 0]
    q_drafted = xp.take_along_axis(q, at, axis=-1)[:, 0]
    return p_drafted / xp.where(q_drafted > 0, q_drafted, 1)


def _normal(surplus: Array, law: Array, xp: Any) -> Array:
    """Rows of `surplus` as laws. Where the laws are equal there is none, and the row is never used."""
    total = surplus.sum(axis=-1, keepdims=True)
    return xp.where(total > 0, surplus / xp.where(total > 0, total, 1), law)
