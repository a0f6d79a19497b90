"""Run a design block after block, each sample kept as soon as it is there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

from bench.design import Task, Turn
from bench.environment import conditions, environment
from bench.journal import Journal
from bench.measure import Bench, Clock
from bench.record import Pace, Record
from bench.sample import Split

SLOWDOWN = 1.5  # of a way that is not plain, at a guess, before any of its runs


class Sweep:
    """One sitting of a design.

    Attributes:
        record: what there is; it grows while the sweep runs.
    """

    def __init__(
        self,
        record: Record,
        tasks: Sequence[Task],
        bench: Bench,
        pace: Pace,
        clock: Clock,
        journal: Journal | None = None,
        say: Callable[[str], None] = lambda sentence: None,
        progress: Callable[[str], None] = lambda sentence: None,
    ) -> None:
        """Args:
        record: with the design, and with what earlier sittings found.
        tasks: in the order of the design's prompts.
        bench: with a decoder for each of the design's ways.
        pace: of this sitting's warm-up.
        clock: seconds, to tell how long the rest takes.
        journal: keeps what is found; None keeps it in memory alone.
        say: takes a sentence at each block's beginning.
        progress: takes one at each run's.
        """
        self.record = record
        self._tasks = tasks
        self._bench = bench
        self._pace = pace
        self._clock = clock
        self._journal = journal
        self._say = say
        self._progress = progress
        self._session = record.session
        self._lasted: dict[str, list[float]] = {way.name: [] for way in record.design.ways}
        self._keep("begin", {"environment": environment(), "conditions": conditions()})
        self._keep("pace", {"stable": pace.stable, "reading": list(pace.reading), "token": pace.token})

    @property
    def left(self) -> tuple[int, float]:
        """Runs that are to come, and the seconds that they may take."""
        turns = self._left()
        return len(turns), self._expected(turns)

    def run(self, deadline: float | None = None) -> bool:
        """Run what is left of the schedule; false if it was stopped.

        Args:
            deadline: by the clock; a block that may not be over by then is not begun, unless it is the first.
        """
        turns = self._left()
        for i, turn in enumerate(turns):
            task = self._tasks[turn.task]
            left = duration(self._expected(turns[i:]))
            if turn.place == 0:
                block = [other for other in turns[i:] if other.block == turn.block]
                late = deadline is not None and self._clock() + self._expected(block) > deadline
                if late and turn.block:
                    self._say("The time is up: the blocks that are left stay out.")
                    return True
                blocks = len(self.record.design.prompts) * self.record.design.repeats
                self._say(f"Block {turn.block + 1} of {blocks}; {left} left")
            self._progress(f"Block {turn.block + 1}, {turn.way} on {task.prompt}; {left} left")
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

    def _left(self) -> list[Turn]:
        done = self.record.done
        turns = [turn for block in self.record.design.blocks() for turn in block]
        return [turn for turn in turns if (turn.block, turn.place) not in done]

    def _expected(self, turns: Sequence[Turn]) -> float:
        return sum(map(self._expected_of, turns))

    def _expected_of(self, turn: Turn) -> float:
        """By earlier runs of this way, else by the warm-up."""
        if lasted := self._lasted[turn.way]:
            return fmean(lasted)
        design = self.record.design
        return expected_run(
            self._pace,
            self._tasks[turn.task],
            reads=design.cold or turn.place == 0,
            slow=turn.way != design.baseline.name,
        )

    def _keep(self, kind: str, entry: dict[str, Any]) -> None:
        if self._journal:
            self._journal.add(kind, entry)
        self.record.take({"kind": kind, **entry})


def expected_run(pace: Pace, task: Task, *, reads: bool, slow: bool) -> float:
    """Seconds that a run may take, by the warm-up.

    Args:
        pace: that it showed.
        task: what is answered.
        reads: the prompt is read anew.
        slow: the way may be slower than the baseline.
    """
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
