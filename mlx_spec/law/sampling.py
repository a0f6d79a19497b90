"""One generation's sampling: from logits to laws to tokens."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import mlx.core as mx

from mlx_spec.law.noise import Dice, Noise
from mlx_spec.law.warpers import count_tokens, penalize, warp
from mlx_spec.options import Sampling


class Sampler:
    """How logits become laws, and how laws become tokens.

    Rows are placed by what comes before them: `committed` tokens on the host and then `drafted` ones
    on the device. Of the rows after each drafted token, logits holds the last M; so row i of a whole
    verification has the history committed + drafted[:i], and draws position len(committed) + i.

    Attributes:
        xp: the array namespace that the acceptance rules use.
        coupled: a row's token depends on its law and its position alone (greedy, seed-exact), so
            that target and source draw the same token from the same law.
    """

    xp: Any = mx

    def __init__(
        self,
        sampling: Sampling,
        *,
        start: int = 0,
        ends: Collection[int] = (),
        spared: Collection[int] = (),
    ) -> None:
        """Args:
        sampling: the options.
        start: tokens before the answer, from which a minimum length counts.
        ends: end tokens, impossible before the minimum length.
        spared: tokens that XTC never removes: by mlx-lm's custom the end tokens and the newline.
        """
        self.sampling = sampling
        self.greedy = sampling.greedy
        self.coupled = sampling.greedy or sampling.seed_exact
        self.dice: Dice = Noise(sampling.seed)
        self._first_end = start + sampling.min_tokens
        self._ends = sorted(ends)
        self._spared = sorted(spared)

    def laws(self, logits: mx.array, committed: Sequence[int], drafted: mx.array | None = None) -> mx.array:
        """(M, V) logits to (M, V) float32 probabilities. Not for greedy sampling."""
        spared = _within(self._spared, logits)
        return warp(self._penalized(logits, committed, drafted), self.sampling, spared)

    def scores(self, logits: mx.array, committed: Sequence[int], drafted: mx.array | None = None) -> mx.array:
        """(M, V) logits to the (M, V) float32 scores whose argmax is the greedy token."""
        return self._penalized(logits, committed, drafted).astype(mx.float32)

    def tokens(self, logits: mx.array, committed: Sequence[int], drafted: mx.array | None = None) -> mx.array:
        """(M, V) logits to (M,) uint32 token ids: the argmax, or each position's own draw from its law."""
        position = _first_position(logits, committed, drafted)
        return self.choose(self.rows(logits, committed, drafted), position)

    def rows(self, logits: mx.array, committed: Sequence[int], drafted: mx.array | None = None) -> mx.array:
        """(M, V) logits to the (M, V) float32 rows that decide: scores if greedy, else laws."""
        return (self.scores if self.greedy else self.laws)(logits, committed, drafted)

    def choose(self, rows: mx.array, position: int) -> mx.array:
        """(M, V) `rows`, the first of which draws `position`, to (M,) uint32 token ids."""
        return mx.argmax(rows, axis=-1) if self.greedy else self.dice.draw_at(rows, position)

    def unsound(self, logits: mx.array) -> mx.array:
        """(M, V) logits to () bool: whether some are NaN, so that they have neither argmax nor law."""
        return mx.isnan(logits).any()

    def _penalized(self, logits: mx.array, committed: Sequence[int], drafted: mx.array | None) -> mx.array:
        """Logits with bias, penalties and minimum length; the same array where none is asked for."""
        sampling, (rows, vocabulary) = self.sampling, logits.shape
        if sampling.logit_bias:
            ids, bias = zip(*sampling.logit_bias, strict=True)
            logits = logits.astype(mx.float32).at[:, mx.array(ids)].add(mx.array(bias))
        if sampling.penalizes:
            window = sampling.penalty_context
            text = mx.array(list(committed[-(window + rows) :]), dtype=mx.uint32)
            if drafted is not None:
                text = mx.concatenate([text, drafted.astype(mx.uint32)])
            counts = count_tokens(text, rows, window, vocabulary)
            logits = penalize(logits.astype(mx.float32), counts, sampling)
        first = _first_position(logits, committed, drafted)
        ends_here = _within(self._ends, logits)
        if first < self._first_end and ends_here:
            early = (first + mx.arange(rows) < self._first_end)[:, None]
            ends = mx.zeros((vocabulary,), dtype=mx.bool_)
            ends[mx.array(ends_here)] = True
            logits = mx.where(early & ends, -mx.inf, logits)
        return logits


def _within(ids: Sequence[int], logits: mx.array) -> list[int]:
    """Those of `ids` that have a column; a tokenizer may know tokens that the model has no row for.

    MLX does not check indices: writing past the end of a row corrupts memory.
    """
    return [token for token in ids if token < logits.shape[-1]]


def _first_position(logits: mx.array, committed: Sequence[int], drafted: mx.array | None) -> int:
    """The position that row 0 of `logits` draws."""
    before = len(committed) + (0 if drafted is None else drafted.size)
    return before + 1 - logits.shape[0]
