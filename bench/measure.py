"""Time one run, and warm up until runs are worth timing. The clock comes in from outside."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any, cast

import mlx.core as mx

from bench.design import Task, Turn
from bench.record import Pace
from bench.sample import Sample, digest
from bench.ways import Decoder

Clock = Callable[[], float]

MOST_WARM_UPS = 6
REST = 8.0  # seconds in which a way may measure, once
STABLE = 0.05  # relative difference of two warm-ups in a row that counts as none


class NotAlone(RuntimeError):
    """The screen is loaded in the process that times: its threads would be timed too."""


class Bench:
    """Times runs of decoders, one after the other."""

    def __init__(
        self,
        decoders: Mapping[str, Decoder],
        *,
        clock: Clock,
        stopped: Callable[[], bool] = lambda: False,
        settle: Callable[[], None] = lambda: None,
    ) -> None:
        """Args:
        decoders: by the name of their way.
        clock: seconds.
        stopped: asked between steps; a run that was stopped is not a sample.
        settle: waits until nothing that a decoder started ahead is still running.
        """
        self._decoders = decoders
        self._clock = clock
        self._stopped = stopped
        self._settle = settle

    def run(self, turn: Turn, task: Task, session: int) -> Sample | None:
        """Answer a task one way; None if it was stopped.

        Raises:
            NotAlone: Textual is imported.
        """
        if "textual" in sys.modules:
            raise NotAlone("runs are not timed in a process that has loaded the screen")
        decoder = self._decoders[turn.way]
        decoder.forget()
        gc.collect()
        self._settle()
        mx.reset_peak_memory()
        answer: list[int] = []
        arrivals: list[float] = []
        emitted: list[int] = []
        started = self._clock()
        # Closed here and not some time later: engines may share a cache.
        with closing(cast(Any, decoder.decode(task))) as steps:
            for step in steps:
                now = self._clock()
                if self._stopped():
                    return None
                answer += step.shown
                if step.computed:
                    arrivals.append(round(now - step.ago - started, 6))
                    emitted.append(step.computed)
        self._settle()
        return Sample(
            block=turn.block,
            place=turn.place,
            way=turn.way,
            prompt=task.prompt,
            session=session,
            arrivals=arrivals,
            emitted=emitted,
            digest=digest(answer),
            peak_bytes=mx.get_peak_memory(),
            counts=decoder.counts(),
        )

    def warm_up(self, baseline: str, task: Task) -> Pace | None:
        """Run the baseline until its speed settles, then every other way once; None if stopped.

        Each way gets some time of its own after that, in which `auto` measures what rounds cost.
        """
        paces: list[Pace] = []
        while len(paces) < MOST_WARM_UPS and not (paces and paces[-1].stable):
            sample = self.run(Turn(-1, 0, baseline, 0), task, session=-1)
            if sample is None:
                return None
            token = sample.seconds / max(sample.tokens, 1)
            stable = bool(paces) and abs(token - paces[-1].token) <= STABLE * paces[-1].token
            reading = (sample.ttft_s or 0.0, len(task.tokens) - sample.counts.reused)
            # A cache that is shared and warm makes later readings short.
            paces.append(Pace(stable, max(paces[-1].reading, reading) if paces else reading, token))
        for name, decoder in self._decoders.items():
            if name != baseline and self.run(Turn(-1, 0, name, 0), task, session=-1) is None:
                return None
            decoder.rest(self._over_in(REST))
        return paces[-1]

    def _over_in(self, seconds: float) -> Callable[[], bool]:
        end = self._clock() + seconds
        return lambda: self._stopped() or self._clock() > end
