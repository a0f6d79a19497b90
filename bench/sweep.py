"""Run a design: warm up, then block after block, each sample kept as soon as it is there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from bench.design import Task, Turn
from bench.environment import conditions, environment
from bench.journal import Journal
from bench.measure import Bench, Clock
from bench.record import Pace, Record
from bench.sample import Split

WARM_UP_TOKENS = 8
SLOWDOWN = 1.5  # of a way that is not plain, at a guess, before any of its runs


class Sweep:
    """One sitting of a design.

    Attributes:
        record: what there is; it grows while the sweep runs.
        pace: what the warm-up showed, once it is over.
    """

    def __init__(
        self,
        record: Record,
        tasks: Sequence[Task],
        bench: Bench,
        *,
        clock: Clock,
        journal: Journal | None = None,
        progress: Callable[[str], None] = lambda sentence: None,
    ) -> None:
        """Args:
        record: with the design, and with what earlier sittings found.
        tasks: in the order of the design's prompts.
        bench: with a decoder for each of the design's ways.
        clock: seconds, to tell how long the rest takes.
        journal: keeps what is found; None keeps it in memory alone.
        progress: takes a sentence before each run.
        """
        self.record = record
        self.pace: Pace | None = None
        self._tasks = tasks
        self._bench = bench
        self._clock = clock
        self._journal = journal
        self._progress = progress
        self._session = record.session
        self._lasted: dict[str, list[float]] = {way.name: [] for way in record.design.ways}

    def begin(self) -> bool:
        """Warm up; false if it was stopped."""
        self._keep("begin", {"environment": environment(), "conditions": conditions()})
        self._progress("warming up")
        task = min(self._tasks, key=lambda task: len(task.tokens))
        task = replace(task, max_tokens=min(WARM_UP_TOKENS, task.max_tokens))
        self.pace = self._bench.warm_up(self.record.design.baseline.name, task)
        if self.pace is None:
            return False
        pace = self.pace
        self._keep("pace", {"stable": pace.stable, "reading": list(pace.reading), "token": pace.token})
        return True

    def run(self) -> bool:
        """Run what is left of the schedule; false if it was stopped."""
        left = self._left()
        for i, turn in enumerate(left):
            task = self._tasks[turn.task]
            self._progress(
                f"block {turn.block + 1} of {self._blocks}, {turn.way}, {task.prompt}; "
                f"{duration(self.seconds_left(left[i:]))} left"
            )
            started = self._clock()
            sample = self._bench.run(turn, task, self._session)
            if sample is None:
                return False
            self._lasted[turn.way].append(self._clock() - started)
            self._keep("sample", sample.as_json())
        return True

    def add(self, split: Split) -> None:
        """Keep a round's split."""
        self._keep("split", split.as_json())

    def end(self) -> None:
        """Note the conditions at the end of the sitting."""
        self._keep("end", {"conditions": conditions()})

    def seconds_left(self, turns: Sequence[Turn] | None = None) -> float:
        """How long these runs may take, or all that are left: by earlier runs, else by the warm-up."""
        return sum(self._expected(turn) for turn in (self._left() if turns is None else turns))

    @property
    def _blocks(self) -> int:
        return len(self.record.design.prompts) * self.record.design.repeats

    def _left(self) -> list[Turn]:
        done = self.record.done
        return [
            turn
            for block in self.record.design.blocks()
            for turn in block
            if (turn.block, turn.place) not in done
        ]

    def _expected(self, turn: Turn) -> float:
        if lasted := self._lasted[turn.way]:
            return fmean(lasted)
        design = self.record.design
        return expected_run(
            self.pace,
            self._tasks[turn.task],
            reads=design.cold or turn.place == 0,
            slow=turn.way != design.baseline.name,
        )

    def _keep(self, kind: str, entry: dict[str, Any]) -> None:
        if self._journal:
            self._journal.add(kind, entry)
        self.record.take({"kind": kind, **entry})


def expected_run(pace: Pace | None, task: Task, *, reads: bool, slow: bool) -> float:
    """Seconds that a run may take, by the warm-up.

    Args:
        pace: None before there is one: then 0.
        task: what is answered.
        reads: the prompt is read anew.
        slow: the way may be slower than the baseline.
    """
    if pace is None:
        return 0.0
    seconds, tokens = pace.reading
    reading = len(task.tokens) * seconds / max(tokens, 1) if reads else 0.0
    return reading + task.max_tokens * pace.token * (SLOWDOWN if slow else 1.0)


def duration(seconds: float) -> str:
    """A length of time as people say it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
