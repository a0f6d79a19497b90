"""Several ways of decoding take turns, so that a machine's drift falls on all of them alike.

The turns are short, some tokens each, within one and the same prompt: a machine that others use too
changes its speed by the second.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from bench.statistics import Timing


@dataclass(frozen=True)
class Step:
    """What one step of decoding brought.

    Attributes:
        computed: tokens that it added to the answer.
        shown: token ids that it released; their text may have been held back for a while.
        drafted: draft tokens verified.
        accepted: those that stood.
    """

    computed: int
    shown: list[int]
    drafted: int = 0
    accepted: int = 0


@dataclass
class Run:
    """One way's answer to one prompt.

    Attributes:
        answer: the token ids.
        timing: the timed tokens and their seconds.
        drafted: draft tokens verified, timed or not.
        accepted: those that stood.
        rounds: steps that verified any.
    """

    answer: list[int] = field(default_factory=list)
    timing: Timing = field(default_factory=lambda: Timing(0, 0.0))
    drafted: int = 0
    accepted: int = 0
    rounds: int = 0

    def add(self, step: Step) -> None:
        self.answer += step.shown
        self.drafted += step.drafted
        self.accepted += step.accepted
        self.rounds += step.drafted > 0


Way = Callable[[list[int]], Iterator[Step]]
"""Decodes after a prompt's token ids, step by step. The first step reads the prompt too."""


@dataclass(frozen=True)
class Turns:
    """How ways take turns.

    Attributes:
        tokens: timed tokens a turn, at least.
        order: decides who comes first in each round of turns.
        settle: waits until nothing that a way started ahead is still running.
        clock: seconds.
    """

    tokens: int
    order: random.Random
    settle: Callable[[], None] = lambda: None
    clock: Callable[[], float] = time.perf_counter

    def answer(self, ways: Mapping[str, Way], prompt: list[int]) -> dict[str, Run]:
        """Answer one prompt every way, turn by turn; turns in which a way had ended are not timed."""
        decoding = {name: way(prompt) for name, way in ways.items()}
        runs = {name: Run() for name in ways}
        for name in ways:
            runs[name].add(next(decoding[name]))
            self.settle()
        while True:
            timings = {}
            for name in self.order.sample(list(ways), len(ways)):
                timings[name] = self._turn(decoding[name], runs[name])
                self.settle()
            if not all(timing.tokens for timing in timings.values()):
                break
            for name, run in runs.items():
                run.timing += timings[name]
        for name, rest in decoding.items():
            for step in rest:
                runs[name].add(step)
        self.settle()
        return runs

    def _turn(self, decoding: Iterator[Step], run: Run) -> Timing:
        # What was started ahead before the pause is done by now: the first step would seem free.
        for step in decoding:
            run.add(step)
            break
        tokens = 0
        started = self.clock()
        for step in decoding:
            run.add(step)
            tokens += step.computed
            if tokens >= self.tokens:
                break
        return Timing(tokens, self.clock() - started)


def interleave(
    ways: Mapping[str, Way],
    prompts: Sequence[list[int]],
    turns: Turns,
    *,
    blocks: int,
    progress: Callable[[str], None] = lambda sentence: None,
) -> dict[str, list[Run]]:
    """Answer a prompt in each of `blocks`, every way.

    Args:
        ways: by name.
        prompts: token ids, used in turn until there are enough blocks.
        turns: how the ways take turns within a block.
        blocks: how many.
        progress: takes a sentence before each block.

    Returns:
        For each way its runs; entry i of each belongs to block i.
    """
    runs: dict[str, list[Run]] = {name: [] for name in ways}
    for block in range(blocks):
        progress(f"block {block + 1} of {blocks}")
        for name, run in turns.answer(ways, prompts[block % len(prompts)]).items():
            runs[name].append(run)
    return runs
