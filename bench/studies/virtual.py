"""A virtual machine and a virtual text: what the controller meets in a simulation. No clock runs here.

Time is counted in plain steps, without noise: what a controller is charged for is what its choices
cost on average, and what it sees is that with noise and drift on top.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from mlx_spec.policy.auto import AutoK
from mlx_spec.policy.step import Step
from mlx_spec.policy.table import CostTable

OVERHEAD = 0.02  # of a round, in plain steps
NOISE, BURST = 0.04, 1.5  # deviation of a step's log time; what a burst multiplies it by
BURSTS, BURST_STEPS = 0.005, 5  # how often a burst starts; how long it takes at most
PHASE = 200  # tokens between changes of a text that changes
PASSAGE = 30  # tokens, on average, for which a lookup has proposals or has none
DRIFT = 4.0  # slowest over fastest

Drift = Literal["none", "slow", "jumps"]


@dataclass(frozen=True)
class Text:
    """A text as a draft source sees it.

    Attributes:
        runs: at each position, how many tokens from there on the source would get right in a row.
        proposing: at each position, whether it has anything to propose.
    """

    runs: list[int]
    proposing: list[bool]

    def emitted(self, position: int, k: int) -> int:
        """Tokens of a round with K drafted at the position."""
        return min(self.runs[position], k) + 1


def text(rng: random.Random, tokens: int, hazards: tuple[float, ...], proposing: float, most: int) -> Text:
    """Draw a text in which every token stands with its hazard, so that any two controllers meet the same one.

    Args:
        rng: where it is drawn from.
        tokens: its length; `most` more are drawn, for the last round.
        hazards: one for the whole text, or several in turn, each for `PHASE` tokens.
        proposing: share of positions at which the source has something to propose.
        most: the largest K.
    """
    length = tokens + most + 1
    stands = [rng.random() < hazards[t // PHASE % len(hazards)] for t in range(length)]
    runs = [0] * length
    for t in range(length - 2, -1, -1):
        runs[t] = runs[t + 1] + 1 if stands[t] else 0
    has = rng.random() < proposing
    passages = []
    for _ in range(length):
        if rng.random() < 1 / PASSAGE:
            has = rng.random() < proposing
        passages.append(has)
    return Text(runs, passages)


@dataclass(frozen=True)
class Machine:
    """What steps cost, in plain steps.

    Attributes:
        table: V(M), draft cost and overhead, as a probe would find them.
        costs: of a round by K; at 0, of a step in which the source was asked and had nothing.
        noise: whether seconds differ from step to step.
        drift: how the machine's speed changes.
    """

    table: CostTable
    costs: list[float]
    noise: bool = True
    drift: Drift = "none"

    def slowness(self, rng: random.Random) -> Iterator[float]:
        """Seconds a plain step, step by step. Drift hits plain steps and rounds alike."""
        burst, level, n = 0, 1.0, 0
        while True:
            n += 1
            if self.drift == "slow":
                level = math.exp(math.log(DRIFT) / 2 * math.sin(n / 110))
            elif self.drift == "jumps" and rng.random() < 1 / 300:
                level = math.exp(rng.uniform(0, math.log(DRIFT)))
            if not self.noise:
                yield level
                continue
            if burst:
                burst -= 1
            elif rng.random() < BURSTS:
                burst = rng.randint(1, BURST_STEPS)
            yield level * math.exp(rng.gauss(0, NOISE)) * (BURST if burst else 1)


def machine(rows: Mapping[int, float], c: float, most: int, noise: bool, drift: Drift) -> Machine:
    """A machine with the curve V(M) = `rows`, on which drafting one token costs `c` plain steps."""
    table = CostTable(0, 1.0, rows, {1: c, most: most * c} if c else {}, OVERHEAD)
    return Machine(table, [table.round(k) for k in range(most + 1)], noise, drift)


def fixed_rounds(words: Text, tokens: int, k: int) -> tuple[float, float]:
    """Rounds, and steps without a proposal, in which a fixed K >= 1 writes the text."""
    position = rounds = missed = 0
    while position < tokens:
        if words.proposing[position]:
            position += words.emitted(position, k)
            rounds += 1
        else:
            position += 1
            missed += 1
    share = tokens / position  # the last round may go beyond the end
    return rounds * share, missed * share


def controlled(controller: AutoK, words: Text, tokens: int, on: Machine, rng: random.Random) -> float:
    """Time in which the controller writes the text, in plain steps."""
    position, time = 0, 0.0
    slowness = on.slowness(rng)
    while position < tokens:
        k = controller.next_k()
        drafted = k if words.proposing[position] else 0
        cost = on.costs[drafted] if k else 1.0
        emitted = words.emitted(position, drafted)
        controller.observe(Step(k, drafted, emitted, cost * next(slowness), position))
        position += emitted
        time += cost
    return time * tokens / position
