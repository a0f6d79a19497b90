"""Strict exactness: greedy text equal to plain decoding's, even where M rows round otherwise than one.

Some kernels give a row other last bits when it is verified among M rows than when it is decoded
alone, and so do the keys and values that such a row leaves in the cache. That flips an argmax only
where the two top logits are closer than that noise. Strict verification knows which rows of the
cache plain decoding would have made, and decides near-ties on those alone: it rolls back to them and
decodes the tokens since then one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import cast

import mlx.core as mx
import mlx.nn as nn

from mlx_spec.caches import CachedModel
from mlx_spec.drafts.base import Draft
from mlx_spec.errors import NotFinite
from mlx_spec.law import acceptance, seen
from mlx_spec.law.sampling import Sampler
from mlx_spec.law.seen import Seen
from mlx_spec.round import Outcome

SAMPLE = 16  # rows compared when the noise is measured, or M if that is more
LEAD = 8  # rows before them
SAFETY = 4.0  # the widest noise among few rows is not the widest there is


def row_noise(model: nn.Module, text: Sequence[int], rows: int, kv_bits: int | None = None) -> float:
    """Measure how far logits of `rows` rows at once lie from logits of one row at a time.

    Args:
        model: an mlx-lm model.
        text: token ids to decode, at least one; repeated where they are too few. The last of them are
            compared, twice: with caches that each way of decoding made itself.
        rows: M.

    Returns:
        The largest absolute difference of a logit; 0 where the backend is row-exact.
    """
    length = LEAD + max(SAMPLE, rows)
    text = (list(text[-length:]) * length)[-length:]

    def logits(at_once: int) -> mx.array:
        cached = CachedModel(model, kv_bits)
        cached.prefill(text[:LEAD], chunk=LEAD)
        blocks = [text[at : at + at_once] for at in range(LEAD, length, at_once)]
        return mx.concatenate([cached.forward(mx.array(block)) for block in blocks]).astype(mx.float32)

    return cast(float, mx.abs(logits(rows) - logits(1)).max().item())


def near_tie_band(noise: Sequence[float]) -> float:
    """The margin of the two top logits up to which noise may have swapped them.

    Args:
        noise: measured by `row_noise`, for the numbers of rows in use.
    """
    return 2 * SAFETY * max(noise)  # each of the two may move


@dataclass(frozen=True)
class Block:
    """Prompt tokens that one forward read into the cache.

    Attributes:
        start: the row of the first of them.
        tokens: all that were read, whether or not their rows are still wanted.
        end: the row after the last that is.
    """

    start: int
    tokens: list[int]
    end: int


class StrictVerifier:
    """Verifies greedy drafts as `mlx_spec.round.verify` does, and re-decides near-ties row by row.

    Attributes:
        band: a margin of the two top logits up to this is a near-tie.
        reverified: near-ties decided anew.
        replayed: tokens decoded again for that, one by one.
    """

    def __init__(self, target: CachedModel, rows: int) -> None:
        """Args:
        target: the model and its cache.
        rows: the most rows of a verification.
        """
        self._target = target
        self._rows = rows
        self._plain_rows = 0  # rows of the cache that are bit for bit plain decoding's
        self._blocks: list[Block] = []  # prompt rows, which plain decoding reads as blocks
        self._noise: float | None = None
        self.band = 0.0
        self.reverified = 0
        self.replayed = 0

    def begin(self, committed: Sequence[int], reused: int, ends: Sequence[int]) -> None:
        """Take note of a prompt that was read, for any kind of generation.

        Args:
            committed: the prompt.
            reused: rows of it from an earlier turn.
            ends: the rows at which the forwards that read the others ended.
        """
        rows = self._target.rows
        if self._plain_rows >= reused:
            self._plain_rows = rows
        kept = [replace(old, end=min(old.end, reused)) for old in self._blocks if old.start < reused]
        new = [Block(start, list(committed[start:end]), end) for start, end in pairwise([reused, *ends])]
        self._blocks = kept + new

    def adopt(self) -> None:
        """Take the rows that the cache has as plain decoding's own: it would have gone on from them too."""
        self._plain_rows, self._blocks = self._target.rows, []

    def measure(self, committed: Sequence[int], sampler: Sampler) -> None:
        """Start a greedy answer after `committed`; measures this backend's noise once."""
        if self._noise is None:
            self._noise = max(
                row_noise(self._target.model, committed, m, self._target.kv_bits) for m in (2, self._rows)
            )
        self.band = near_tie_band([self._noise]) * sampler.sampling.stretch
        self.reverified = self.replayed = 0

    @property
    def clean(self) -> bool:
        """Every row of the cache is plain decoding's own, so that a plain step needs no check."""
        return self._plain_rows >= self._target.rows

    def plain_step(self) -> None:
        """Take note that a plain step extended a clean cache."""
        self._plain_rows = self._target.rows

    def verify(
        self, committed: Sequence[int], draft: Draft, sampler: Sampler, details: bool = False
    ) -> Outcome:
        """Verify `draft`, possibly empty, after the committed tokens.

        Args:
            committed: all tokens so far.
            draft: what was proposed.
            sampler: greedy.
            details: take what the target held of the drafts too.

        Returns:
            The outcome; on a near-tie the round ends there, with plain decoding's own token.
        """
        self._plain_rows = min(self._plain_rows, self._target.rows)
        if self.clean:
            self._target.mark()
        fed = mx.concatenate([mx.array([committed[-1]], dtype=mx.uint32), draft.tokens.astype(mx.uint32)])
        logits = self._target.forward(fed)
        scores = sampler.scores(logits, committed, draft.tokens)
        drawn = mx.argmax(scores, axis=-1)
        n, token = acceptance.match(drawn, draft.tokens, mx) if len(draft) else (mx.array(0), drawn[0])
        top = mx.topk(scores, 2, axis=-1)
        sure = (
            acceptance.leading(mx.abs(top[:, 0] - top[:, 1]) > self.band, mx)
            if self.band
            else mx.array(len(fed))
        )
        counts = mx.stack([part.astype(mx.uint32) for part in (n, token, sure, sampler.unsound(logits))])
        ids = [draft.tokens.astype(mx.uint32), counts]
        if details:
            ids += seen.take(scores, draft, n, token, sampler, drawn)
        read, k = cast(list[int], mx.concatenate(ids).tolist()), len(draft)
        accepted, following, first_near_tie, broken = read[k : k + 4]
        found = Seen.of(read[k + 4 :], k, sampler) if details else None
        if broken:
            raise NotFinite
        drafted = read[:k]
        if first_near_tie > accepted:
            return Outcome(drafted, accepted, following, found)
        text = [*committed, *drafted[:first_near_tie]]
        decided = self._decode_plainly(text, sampler)
        plainly = cast(int, decided.argmax().item())
        if found:
            p = mx.softmax(decided, axis=-1)[0, plainly]
            found = replace(found, token_p=cast(float, p.item()))
        return Outcome(drafted, first_near_tie, plainly, found)

    def _decode_plainly(self, text: list[int], sampler: Sampler) -> mx.array:
        """(1, V) scores of the token after `text`, from rows that plain decoding would have made."""
        rows = self._target.restore(self._plain_rows)
        self.reverified += 1
        self.replayed += len(text) - rows
        blocks = {block.start: block for block in self._blocks}
        while (at := self._target.rows) < len(text):
            block = blocks.get(at)
            logits = self._target.forward(mx.array(block.tokens if block else [text[at]]))
            mx.eval(logits)
            if block:
                self._target.keep(block.end)
        self._plain_rows = self._target.rows
        return sampler.scores(logits[-1:], text)
