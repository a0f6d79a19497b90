"""What the target held of a round's drafts: probabilities that ride in the round's one reading."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import mlx.core as mx

from mlx_spec.law.sampling import Sampler


@dataclass(frozen=True)
class Seen:
    """Probabilities of a round of K drafts, as the target's rows had them; see `mlx_spec.events.Details`.

    Attributes:
        p: K, of each drafted token.
        q: K, with which the source drew each; None where that does not count.
        preferred: K + 1, the likeliest token of each row, and `preferred_p` its probability.
        token_p: of the token after those that stand.
    """

    p: list[float]
    q: list[float] | None
    preferred: list[int]
    preferred_p: list[float]
    token_p: float

    @classmethod
    def of(cls, words: list[int], k: int, sampler: Sampler) -> Seen:
        """From the words that `take` made of K drafts with `sampler`, read from the device."""
        preferred, bits = words[: k + 1], words[k + 1 :]
        numbers = struct.unpack(f"{len(bits)}f", struct.pack(f"{len(bits)}I", *bits))
        p, (token_p,), preferred_p, q = (
            list(numbers[start:end])
            for start, end in ((0, k), (k, k + 1), (k + 1, 2 * k + 2), (2 * k + 2, len(numbers)))
        )
        if not q and not sampler.sampling.seed_exact:
            q = [1.0] * k
        return cls(p, q or None, preferred, preferred_p, token_p)


def take(
    rows: mx.array,
    draft: Any,
    n: mx.array,
    token: mx.array,
    sampler: Sampler,
    likeliest: mx.array | None = None,
) -> list[mx.array]:
    """What `Seen` holds, as uint32 words: floats as their bits, so that they are read with the token ids.

    Args:
        rows: (K+1, V) float32, from `sampler.rows`.
        draft: the `mlx_spec.drafts.base.Draft` of K tokens.
        n: () how many of them stand.
        token: () the one after them.
        sampler: of the rows.
        likeliest: (K+1,) the argmax of each row, where it is there already.
    """
    drafted = draft.tokens[:, None]
    if likeliest is None:
        likeliest = mx.argmax(rows, axis=-1)
    values = mx.concatenate(
        [
            mx.take_along_axis(rows[:-1], drafted, axis=-1)[:, 0],
            mx.take(mx.take(rows, n, axis=0), token)[None],
            mx.take_along_axis(rows, likeliest[:, None], axis=-1)[:, 0],
        ]
    )
    if sampler.greedy:
        whole = mx.logsumexp(rows, axis=-1)
        values = mx.exp(values - mx.concatenate([whole[:-1], mx.take(whole, n)[None], whole]))
    if draft.laws is not None and not sampler.coupled:
        q = mx.take_along_axis(draft.laws, drafted, axis=-1)[:, 0]
        values = mx.concatenate([values, q.astype(mx.float32)])
    return [likeliest.astype(mx.uint32), values.view(mx.uint32)]
