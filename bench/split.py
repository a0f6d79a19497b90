"""Where a round's time goes: drafting, verifying, and the rest.

These rounds are apart from the timed runs. Each part is waited for by itself, which a timed run does
not do: there parts may overlap, so a round takes at most the sum that is told here.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any

import mlx.core as mx

from bench.design import Task, Way
from bench.measure import Clock
from bench.sample import Split
from bench.ways import Pair
from mlx_spec import Engine, Limits
from mlx_spec.drafts.base import Draft
from mlx_spec.turns.session import Session


class Watch:
    """Listens in on an engine's source and on its target, within a `with` block."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self._clock = clock
        self._target: Any = engine.session.target
        self._source: Any = engine.source
        self.draft_s = self.verify_s = 0.0
        self.rows = 0

    def __enter__(self) -> Watch:
        forward, propose = self._target.forward, self._source.propose

        def timed_forward(tokens: mx.array) -> mx.array:
            started = self._clock()
            logits = forward(tokens)
            mx.eval(logits)
            self.verify_s += self._clock() - started
            self.rows = tokens.size
            return logits

        def timed_propose(k: int) -> Draft:
            started = self._clock()
            draft: Draft = propose(k)
            mx.eval(draft.tokens, *([] if draft.laws is None else [draft.laws]))
            self.draft_s += self._clock() - started
            return draft

        # On the two objects themselves, before their classes' own.
        self._target.forward, self._source.propose = timed_forward, timed_propose
        return self

    def __exit__(self, *error: object) -> None:
        del self._target.forward, self._source.propose

    def take(self, way: str, seconds: float) -> Split:
        """The round that has just ended, after `seconds`."""
        split = Split(way, self.rows, self.draft_s, self.verify_s, seconds - self.draft_s - self.verify_s)
        self.draft_s = self.verify_s = 0.0
        return split


def split_rounds(engine: Engine, way: str, task: Task, clock: Clock) -> Iterator[Split]:
    """The rounds of one answer; the first, which reads the prompt, is left out."""
    rounds = engine.generate(task.tokens, task.sampling, Limits(max_tokens=task.max_tokens))
    with Watch(engine, clock) as watch, closing(rounds):
        before = None
        for event in rounds:
            now = clock()
            split = watch.take(way, now - (before or now))
            if before is not None and event.finish_reason is None:
                yield split
            before = now


def measure_splits(
    pair: Pair,
    ways: Sequence[Way],
    tasks: Sequence[Task],
    *,
    clock: Clock,
    stopped: Callable[[], bool],
    seed: int,
) -> Iterator[Split]:
    """Rounds of every way on every task, the ways in random order within each.

    Args:
        ways: with a fixed K, and the loop without drafts, whose forwards have one row.
        tasks: few.
    """
    order = random.Random(seed)
    session: Session | None = None
    for task in tasks:
        for way in order.sample(list(ways), len(ways)):
            engine = pair.engine(way, session)
            session = engine.session
            for split in split_rounds(engine, way.name, task, clock):
                if stopped():
                    return
                yield split
