"""Decoders that play a script by a clock that only they move, and records made of known timings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bench.design import Design, Task, Way, sweep_ways
from bench.record import Pace, Record
from bench.sample import Counts, Sample, Split, digest
from bench.ways import Step


class Clock:
    """Seconds that pass when something takes them, faster or slower at will."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pace = 1.0

    def __call__(self) -> float:
        return self.now

    def take(self, seconds: float) -> None:
        self.now += seconds * self.pace


@dataclass
class Script:
    """A way that takes `seconds` for each step of `tokens` tokens, after one second of reading."""

    clock: Clock
    seconds: float = 0.1
    tokens: int = 1
    heard: list[str] = field(default_factory=list)
    name: str = ""
    before: Callable[[], None] = lambda: None

    def decode(self, task: Task) -> Iterator[Step]:
        self.heard.append(self.name)
        self.clock.take(1.0)
        for done in range(0, task.max_tokens, self.tokens):
            self.before()
            self.clock.take(self.seconds)
            now = min(self.tokens, task.max_tokens - done)
            yield Step(now, [7] * now)

    def counts(self) -> Counts:
        return Counts(rounds=2, drafted=4, accepted=3)

    def forget(self) -> None:
        self.heard.append("forget")

    def rest(self, over: Callable[[], bool]) -> None:
        """There is nothing to measure."""


def tasks(prompts: int = 5, tokens: int = 20) -> list[Task]:
    return [
        Task(f"p{i}", "chat" if i % 2 else "code", [1, 2, 3 + i], max_tokens=tokens) for i in range(prompts)
    ]


def design(ways: Sequence[Way] | None = None, prompts: int = 5, **changes: Any) -> Design:
    given: dict[str, Any] = {
        "bench": "sweep",
        "model": {"name": "Tiny", "quantization": None, "dtype": "float32"},
        "draft": None,
        "ways": list(ways or sweep_ways(["lookup"], [1, 2])),
        "prompts": [(task.prompt, task.group, True) for task in tasks(prompts)],
        "prompt_hash": "0" * 64,
        "repeats": 1,
        "tokens": 20,
        "seed": 0,
        "cold": True,
    }
    return Design(**{**given, **changes})


ENVIRONMENT = {
    "date": "2026-01-02",
    "system": "Linux x86_64",
    "os": "6.1",
    "chip": "A chip",
    "cores": 2,
    "memory_bytes": 8_000_000_000,
    "device": {"kind": "cpu"},
    "python": "3.12.1",
    "versions": {"specchat": None, "mlx": "0.1", "mlx-lm": "0.2", "numpy": "2.0"},
    "variables": {},
}
CALM = {"load": 0.1, "battery": None, "low_power": None, "speed_limit": None}


def record(
    speed: dict[str, float], plan: Design | None = None, noise: float = 0.01, seed: int = 0, tokens: int = 20
) -> Record:
    """A complete sweep in which each way has this speed over the baseline, but for some noise."""
    plan = plan or design()
    random = np.random.default_rng(seed)
    found = Record(plan, dict(ENVIRONMENT), [dict(CALM)], [Pace(True, (0.5, 10), 0.1)])
    for block in plan.blocks():
        for turn in block:
            way = next(way for way in plan.ways if way.name == turn.way)
            token = 0.1 / speed.get(turn.way, 1.0) * float(np.exp(noise * random.normal()))
            arrivals = [0.5 + token * i for i in range(tokens)]
            counts = Counts()
            if way.source:
                counts = Counts(10, 20, 12, [10, 8], [8, 4], {"2": 10}, 0, 1000, 500, "length")
            prompt = plan.prompts[turn.task][0]
            sample = Sample(turn.block, turn.place, turn.way, prompt, 0, arrivals, [1] * tokens, digest([7]))
            found.samples.append(replace(sample, peak_bytes=9000, counts=counts))
    for way in plan.ways:
        if way.k is None:
            found.splits += [Split(way.name, 1, 0.0, 0.1, 0.01)] * 5
        elif way.source and isinstance(way.k, int):
            found.splits += [Split(way.name, way.k + 1, 0.02 * way.k, 0.1 + 0.02 * way.k, 0.01)] * 5
    return found
