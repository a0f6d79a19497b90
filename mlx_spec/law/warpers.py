"""The warpers: what sampling options make of rows of logits. Order and meaning are mlx-lm's.

First the penalties, on logits: bias, repetition, presence, frequency, minimum length. Then the
warpers of the law: top-p, min-p, XTC, top-k on untempered probabilities, and temperature.
"""

from __future__ import annotations

from collections.abc import Sequence

import mlx.core as mx
from mlx_lm.sample_utils import apply_min_p, apply_top_k

from mlx_spec.options import Sampling

# Float32 divides by numbers within these without reaching 0 or infinity.
_LEAST, _MOST = 1e-30, 1e30


def warp(logits: mx.array, sampling: Sampling, spared: Sequence[int] = ()) -> mx.array:
    """The law that `sampling` makes of each row of logits.

    XTC removes the likeliest tokens by a coin; its law is the mixture of the two outcomes.

    Args:
        logits: (M, V), any float dtype, penalties applied.
        sampling: with a temperature above 0.
        spared: token ids that XTC never removes.

    Returns:
        (M, V) float32 probabilities; each row sums to 1.
    """
    rows = logits.astype(mx.float32)
    if 0 < sampling.top_p < 1:
        rows = _nucleus(rows, sampling.top_p)
    if sampling.min_p > 0:
        rows = apply_min_p(rows, sampling.min_p)
    if sampling.xtc_probability == 0:
        return _tempered(rows, sampling)
    without_top = _tempered(_exclude_top_choices(rows, sampling.xtc_threshold, spared), sampling)
    share = sampling.xtc_probability
    return (1 - share) * _tempered(rows, sampling) + share * without_top


def _nucleus(rows: mx.array, top_p: float) -> mx.array:
    """Top-p: of the tokens from the likeliest on, keep those before which the mass is below `top_p`.

    A token below (1 - top_p) / V is never kept: all such tokens together miss less than 1 - top_p. To
    sort them as zeros, and values in place of indices, takes a quarter of the time of mlx-lm's
    argsort on a CPU. Equals of the last kept token stay with it.
    """
    law = mx.softmax(rows, axis=-1)
    missing = max(1 - top_p, 0.0)
    never = law < missing / rows.shape[-1]
    ascending = mx.sort(mx.where(never, 0, law), axis=-1)
    below = mx.where(never, law, 0).sum(axis=-1, keepdims=True) + mx.cumsum(ascending, axis=-1)
    # The likeliest stays, whatever rounding makes of a tiny top-p.
    least = mx.where(below > missing, ascending, ascending[:, -1:]).min(axis=-1, keepdims=True)
    return mx.where(law >= least, rows, -mx.inf)


def _tempered(rows: mx.array, sampling: Sampling) -> mx.array:
    if 0 < sampling.top_k < rows.shape[-1]:
        rows = apply_top_k(rows, sampling.top_k)
    # Subtract the top first: a tiny temperature then scales 0 and not a large logit.
    rows = rows - rows.max(axis=-1, keepdims=True)
    return mx.softmax(rows / min(max(sampling.temperature, _LEAST), _MOST), axis=-1)


def _exclude_top_choices(rows: mx.array, threshold: float, spared: Sequence[int]) -> mx.array:
    """XTC: of the tokens above `threshold`, remove all but the least likely."""
    probabilities = mx.softmax(rows, axis=-1)
    least = mx.where(probabilities > threshold, probabilities, mx.inf).min(axis=-1, keepdims=True)
    removed = probabilities > least
    if spared:
        removed[:, mx.array(list(spared))] = False
    return mx.where(removed, -mx.inf, rows)


def count_tokens(text: mx.array, rows: int, window: int, vocabulary: int) -> mx.array:
    """How often each token occurs in each row's history.

    Args:
        text: (T,) token ids up to the end of the last row's history; row i's history ends
            `rows - 1 - i` tokens earlier.
        rows: M.
        window: tokens of history that count.
        vocabulary: V.

    Returns:
        (M, V) float32 counts.
    """
    ends = text.size - rows + 1 + mx.arange(rows)[:, None]
    at = ends - window + mx.arange(window)
    inside = (at >= 0).astype(mx.float32)
    tokens = mx.take(text, mx.maximum(at, 0))
    counts = mx.zeros((rows, vocabulary), dtype=mx.float32)
    return counts.at[mx.arange(rows)[:, None], tokens].add(inside)


def penalize(logits: mx.array, counts: mx.array, sampling: Sampling) -> mx.array:
    """Repetition (Keskar et al. 2019, arXiv 1909.05858), presence and frequency penalties.

    Args:
        logits: (M, V) float32.
        counts: (M, V) how often each token occurs in each row's history.
    """
    occurs = counts > 0
    if sampling.repetition_penalty != 1:
        scaled = mx.where(
            logits < 0, logits * sampling.repetition_penalty, logits / sampling.repetition_penalty
        )
        logits = mx.where(occurs, scaled, logits)
    return logits - sampling.presence_penalty * occurs - sampling.frequency_penalty * counts
