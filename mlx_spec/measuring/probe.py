"""Measure the backend at the present depth: what one target forward over M rows costs, T(M).

Inside an answer a forward that measures could as well verify a draft, so rounds are the measurement there.
The probe is for the time when nobody waits. It goes one call at a time, takes every row back at once, and
may be left between any two calls and gone on with later.

Each call ends with one evaluation of logits and cache: calls that are queued overlap, and would tell less
than a round costs. M is shuffled in blocks, and only ratios within a block count.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from statistics import median

import mlx.core as mx

from mlx_spec.caches import CachedModel
from mlx_spec.drafts.base import Draft, DraftSource
from mlx_spec.law.sampling import Sampler
from mlx_spec.measuring.measured import Block, Measured, summarize
from mlx_spec.plain import PlainDecoder
from mlx_spec.round import verify

BUDGET = 100  # plain steps that a measurement may cost: 5 s at 20 tokens/s
MOST_BLOCKS = 12  # more would heat the machine and narrow nothing
WARM_UPS = 2  # calls of each M before those that count: kernels are compiled, memory is found
PLAIN_STEPS = 3  # that count, after as many warm-ups
CORE = (1, 2, 3, 5, 8)  # rows that are measured first, as far as they are wanted
DRAFTS = (1, 3)  # K whose drafting is timed


class Probe:
    """One measurement of a target and its draft source at one depth.

    Attributes:
        depth: rows of the cache.
        done: there is nothing more to measure.
    """

    def __init__(
        self,
        target: CachedModel,
        source: DraftSource | None,
        committed: Sequence[int],
        sampler: Sampler,
        *,
        most_rows: int,
        vocabulary: int,
        most_blocks: int = MOST_BLOCKS,
        clock: Callable[[], float] = time.perf_counter,
        order: random.Random | None = None,
    ) -> None:
        """Args:
        target: can roll back. Its rows are those of `committed` but for the last, and stay so.
        source: has begun on `committed`, or is None.
        committed: token ids, at least one.
        sampler: greedy.
        most_rows: the largest M, at least 2.
        vocabulary: tokens that the target knows.
        most_blocks: to stop after, whatever the budget has left.
        clock: seconds.
        order: shuffles the calls of a block.
        """
        self.depth = target.rows
        self.done = False
        self._target = target
        self._source = source
        self._committed = committed
        self._sampler = sampler
        self._vocabulary = vocabulary
        self._most_blocks = most_blocks
        self._clock = clock
        self._order = order or random.Random(0)
        self._all = tuple(range(1, most_rows + 1))
        self._core = tuple(sorted({m for m in CORE if m < most_rows} | {1, 2, min(most_rows, CORE[-1])}))
        self._wide = tuple(sorted({*self._core, most_rows}))
        self._warmed: set[int] = set()
        self._check = Block()
        self._blocks: list[Block] = []
        self._spent = 0.0

    @property
    def measured(self) -> Measured | None:
        """What it found so far; None before its first block is complete."""
        return summarize(self._blocks, self.depth, self._check) if self._blocks else None

    def calls(self) -> Iterator[None]:
        """Measure, yielding after each call. A block that is left half way does not count."""
        try:
            while rows := self._next_rows():
                before = self._clock()
                block = Block()
                yield from self._warm_up(rows)
                yield from self._time_block(block, rows)
                self._blocks.append(block)
                self._spent += self._clock() - before
            self.done = True
        finally:
            self._target.keep(self.depth)

    def _next_rows(self) -> Sequence[int]:
        """The rows of the next block: the first few, then the most, then all, as far as the budget goes."""
        if not self._blocks:
            return self._core
        if len(self._blocks) == self._most_blocks:
            return ()
        left = BUDGET * median(block.rows[1] for block in self._blocks) - self._spent
        choices = (self._all, self._wide, self._core)[len(self._blocks) == 1 :]
        return next((rows for rows in choices if self._expected(rows) <= left), ())

    def _expected(self, rows: Sequence[int]) -> float:
        """Seconds for a block of `rows`; an M that is not known takes what the next larger one does.

        Beyond the largest that is known, rows may cost as much as one by one.
        """
        last = self._blocks[0]
        cost = 0.0
        for m in rows:
            seconds = min((t for known, t in last.rows.items() if known >= m), default=m * last.rows[1])
            cost += seconds * (1 if m in self._warmed else 1 + WARM_UPS)
        return cost + self._extras(last)

    @staticmethod
    def _extras(block: Block) -> float:
        plain = (2 * PLAIN_STEPS + 1) * (block.plain or 0.0)  # the last step starts another
        return plain + (block.round or 0.0) + sum(block.drafts.values())

    def _warm_up(self, rows: Sequence[int]) -> Iterator[None]:
        for m in rows:
            if m not in self._warmed:
                for _ in range(WARM_UPS):
                    self._check.rows[m] = self._time_rows(m)
                    yield
                self._warmed.add(m)

    def _time_block(self, block: Block, rows: Sequence[int]) -> Iterator[None]:
        for m in self._order.sample(rows, len(rows)):
            block.rows[m] = self._time_rows(m)
            yield
        block.round = self._time_round()
        yield
        block.plain = yield from self._time_plain()
        if self._source is not None:
            if not self._blocks:  # the first proposal may have some text to read
                self._time_draft(self._source, 1)
                yield
            for k in DRAFTS:
                block.drafts[k] = self._time_draft(self._source, k)
                yield

    def _some_tokens(self, m: int) -> mx.array:
        """Tokens that belong together, since a mixture of experts reads fewer weights for equal ones."""
        text = self._committed
        if len(text) < m:
            return mx.array([self._order.randrange(self._vocabulary) for _ in range(m)], dtype=mx.uint32)
        start = self._order.randrange(len(text) - m + 1)
        return mx.array(list(text[start : start + m]), dtype=mx.uint32)

    def _time_rows(self, m: int) -> float:
        rows = self._some_tokens(m)
        before = self._clock()
        logits = self._target.forward(rows)
        mx.eval(logits, [layer.state for layer in self._target.layers])
        seconds = self._clock() - before
        self._target.keep(self.depth)
        return seconds

    def _time_round(self) -> float:
        """A round over one draft token."""
        draft = Draft(self._some_tokens(1))
        before = self._clock()
        verify(self._committed, draft, self._target.forward, self._sampler)
        self._target.keep(self.depth)
        return self._clock() - before

    def _time_plain(self) -> Generator[None, None, float]:
        """A step of the pipelined loop, the median of a few."""
        plain = PlainDecoder(self._target, self._sampler)
        times = []
        for _ in range(2 * PLAIN_STEPS):
            before = self._clock()
            plain.step(self._committed, more=True)
            times.append(self._clock() - before)
            yield
        if plain.ahead is not None:
            mx.eval(plain.ahead)  # or it would run into the next call's time
        self._target.keep(self.depth)
        return median(times[PLAIN_STEPS:])

    def _time_draft(self, source: DraftSource, k: int) -> float:
        before = self._clock()
        mx.eval(source.propose(k).tokens)
        seconds = self._clock() - before
        source.commit([], 0)  # takes the proposal back
        return seconds
