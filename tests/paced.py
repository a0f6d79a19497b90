"""A scripted backend on a virtual clock: what each step costs and how many tokens it gives."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from mlx_spec.policy.auto import AutoK
from mlx_spec.policy.controller import FixedK
from mlx_spec.policy.step import Step
from mlx_spec.policy.table import CostTable
from mlx_spec.verdict.diagnose import Diagnosis

FLAT = {1: 1.0, 16: 1.0}
SERIAL = {m: float(m) for m in range(1, 18)}
PARALLEL = {m: 1 + 0.08 * (m - 1) for m in range(1, 18)}


def table(
    verify: Mapping[int, float] = PARALLEL, c: float = 0.0, overhead: float = 0.02, depth: int = 0
) -> CostTable:
    """A probe's table of a target that takes a second a token."""
    return CostTable(depth, 1.0, verify, {1: c, 16: 16 * c} if c else {}, overhead)


@dataclass
class Backend:
    """Costs by a table, acceptance by a hazard that may depend on the position in the text.

    Attributes:
        slowness: of the machine, by the time that has passed.
        proposes: whether the source has something, by position.
        noise: deviation of log times.
        spent: seconds, without noise and slowness: plain steps' time.
    """

    table: CostTable
    hazard: Callable[[int], float]
    slowness: Callable[[float], float] = lambda time: 1.0
    proposes: Callable[[int], bool] = lambda position: True
    noise: float = 0.03
    seed: int = 0
    spent: float = 0.0
    position: int = 0
    ks: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._rng = random.Random(self.seed)

    def step(self, k: int) -> Step:
        """One step with K drafted."""
        drafted = k if self.proposes(self.position) else 0
        accepted = 0
        while accepted < drafted and self._rng.random() < self.hazard(self.position + accepted):
            accepted += 1
        cost = self.table.round(drafted) if k else self.table.plain
        seconds = cost * self.slowness(self.spent) * self._rng.lognormvariate(0, self.noise)
        step = Step(k, drafted, accepted + 1, seconds, self.position)
        self.spent += cost
        self.position += accepted + 1
        self.ks.append(k)
        return step

    def play(
        self, controller: AutoK | FixedK, tokens: int, diagnosis: Diagnosis | None = None
    ) -> Iterator[Step]:
        """Steps until the text has so many tokens more."""
        end = self.position + tokens
        while self.position < end:
            step = self.step(controller.next_k())
            controller.observe(step)
            if diagnosis:
                diagnosis.observe(controller)
            yield step

    def run(self, controller: AutoK | FixedK, tokens: int, diagnosis: Diagnosis | None = None) -> list[Step]:
        """All of `play`."""
        return list(self.play(controller, tokens, diagnosis))
