"""How recurrent layers go back: the latest forwards' states and what the layers were called with.

States are immutable arrays, so a snapshot is a reference. Going back means the newest snapshot at or
before the wanted row, and from there only the recurrent modules once more, on the inputs that they had.
Their outputs are never computed, only their states.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import mlx.core as mx
from mlx_lm.models.cache import CacheList

from mlx_spec.caches.recurrent import RecurrentCache, Unrecorded

REACH = 16  # rows that can be taken back while single rows are read without a rollback between them
LONGEST = 64  # of a forward that can be taken back in part: the inputs of a prompt's chunk would cost memory


@dataclass(slots=True)
class Call:
    """A recorded call of one module, which is the first of `args`."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    cache: Any

    def first(self, rows: int, of: int) -> Call:
        """The same call with the first `rows` of its `of` rows."""
        args = tuple(_first(value, rows, of) for value in self.args)
        return Call(self.function, args, {k: _first(v, rows, of) for k, v in self.kwargs.items()}, self.cache)

    def replay(self, start: int) -> None:
        """Run it again on caches of `start` rows."""
        if isinstance(self.cache, CacheList):  # attention that keeps keys besides its state
            for layer in self.cache.caches:
                if not isinstance(layer, RecurrentCache):
                    layer.trim(layer.offset - start)
        self.run()

    def run(self) -> Any:
        return self.function(*self.args, **self.kwargs)


def _first(value: Any, rows: int, of: int) -> Any:
    if not isinstance(value, mx.array) or value.ndim < 2:
        return value
    # What has no rows here is a mask of attention: that shapes the output alone, which nobody reads.
    return value[:, :rows] if value.shape[1] == of else None


@dataclass
class Step:
    """One forward.

    Attributes:
        start: rows before it.
        rows: how many of its rows stand.
        states: of all layers at its start, or None if this step is only replayed.
        calls: of all recurrent modules, in order.
    """

    start: int
    rows: int
    states: list[list[mx.array | None]] | None
    calls: list[Call] = field(default_factory=list)


class Journal:
    """The latest forwards of one cached model.

    Attributes:
        layers: all recurrent caches.
    """

    def __init__(self) -> None:
        self.layers: list[RecurrentCache] = []
        self._inside = False
        self._steps: list[Step] = []

    def begin(self, start: int, rows: int) -> None:
        """A forward of `rows` rows after `start` follows."""
        if rows > LONGEST:
            self.clear()
        else:
            self._thin(start)
            self._steps.append(Step(start, rows, [layer.snapshot() for layer in self.layers]))

    def _thin(self, start: int) -> None:
        """Leave, besides the newest snapshot, only those that are needed to reach back far enough."""
        with_states = [i for i, step in enumerate(self._steps) if step.states is not None]
        if len(with_states) > 1 and self._steps[with_states[-1]].start < (
            self._steps[with_states[-2]].start + REACH
        ):
            self._steps[with_states.pop()].states = None
        enough = [i for i in with_states if self._steps[i].start <= start - REACH]
        del self._steps[: enough[-1] if enough else 0]

    def clear(self) -> None:
        """Forget what leads back."""
        self._steps = []

    def call(self, call: Call) -> Any:
        """Run a recurrent module's call, and record it in the present step."""
        if self._inside:  # a part of what is recorded already
            return call.run()
        if self._steps:
            self._steps[-1].calls.append(call)
        self._inside = True
        try:
            return call.run()
        finally:
            self._inside = False

    def written(self) -> None:
        """A state is being written; raises `Unrecorded` unless a recorded module does it."""
        if not self._inside:
            raise Unrecorded

    def reach(self, rows: int) -> int:
        """The fewest rows that `rollback` can go back to, with `rows` read."""
        return self._steps[0].start if self._steps else rows

    def rollback(self, rows: int) -> None:
        """Go back to the states after `rows` rows, `reach` or more."""
        at = max(i for i, step in enumerate(self._steps) if step.states is not None and step.start <= rows)
        for layer, state in zip(self.layers, self._steps[at].states or [], strict=True):
            layer.revert(state)
        replayed = [step for step in self._steps[at:] if step.start < rows]
        del self._steps[at + len(replayed) :]
        for step in replayed:
            if (stand := min(step.rows, rows - step.start)) < step.rows:
                step.calls = [call.first(stand, step.rows) for call in step.calls]
                step.rows = stand
            self._run_again(step)

    def _run_again(self, step: Step) -> None:
        self._inside = True
        try:
            for call in step.calls:
                call.replay(step.start)
        finally:
            self._inside = False

    @property
    def nbytes(self) -> int:
        """Memory of the snapshots, in bytes."""
        states = [state for step in self._steps for layer in step.states or [] for state in layer]
        return sum(array.nbytes for array in {id(a): a for a in states if a is not None}.values())
