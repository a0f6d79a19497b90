"""Recurrent state (gated delta nets, Mamba, short convolutions, RWKV): what leads back to an earlier one.

States are immutable arrays, so a snapshot is a reference. `Recorded` modules hand their inputs to the
journal; going back means the newest snapshot before the wanted row, and from there only the recurrent
modules once more, on the inputs that they had. Their outputs are never computed, only their states.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models.cache import ArraysCache, CacheList

REACH = 16  # rows that can be taken back while single rows are read without a rollback between them
LONGEST = 64  # of a forward that can be taken back in part: the inputs of a prompt's chunk would cost memory


class Unrecorded(Exception):
    """A state was written by something whose inputs are not recorded."""


class RecurrentCache(ArraysCache):
    """The states of one layer. Only recorded modules may write them."""

    cache: list[mx.array | None]

    def __init__(self, size: int, journal: Journal) -> None:
        super().__init__(size)
        self.journal = journal
        journal.layers.append(self)

    def __setitem__(self, idx: int, value: mx.array) -> None:
        if not self.journal.inside:
            raise Unrecorded
        self.cache[idx] = value

    def snapshot(self) -> list[mx.array | None]:
        return list(self.cache)

    def revert(self, snapshot: list[mx.array | None]) -> None:
        self.cache = list(snapshot)


@dataclass(frozen=True)
class Call:
    """A recorded call of one module."""

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
        self.function(*self.args, **self.kwargs)


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
        inside: whether a recorded module is running.
    """

    def __init__(self) -> None:
        self.layers: list[RecurrentCache] = []
        self.inside = False
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

    def call(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Any, cache: Any) -> Any:
        """Run a recurrent module, and record that in the present step."""
        if self._steps:
            self._steps[-1].calls.append(Call(function, args, kwargs, cache))
        return self._run(lambda: function(*args, **kwargs))

    def _run(self, function: Callable[[], Any]) -> Any:
        self.inside = True
        try:
            return function()
        finally:
            self.inside = False

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
            for call in step.calls:
                self._run(functools.partial(call.replay, step.start))

    @property
    def nbytes(self) -> int:
        """Memory of the snapshots, in bytes."""
        states = [state for step in self._steps for layer in step.states or [] for state in layer]
        return sum(array.nbytes for array in {id(a): a for a in states if a is not None}.values())


@functools.cache
def _takes_cache(kind: Any) -> bool:
    return "cache" in inspect.signature(kind.__call__).parameters


@functools.cache
def _recorded(kind: Any) -> Any:
    """A class like `kind` whose calls on a cache with a journal are recorded there."""
    position = list(inspect.signature(kind.__call__).parameters).index("cache") - 1
    plain_call = kind.__call__

    @functools.wraps(plain_call)
    def __call__(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        cache = args[position] if len(args) > position else kwargs.get("cache")
        journal = getattr(cache, "journal", None)
        if journal is None:
            return plain_call(self, *args, **kwargs)
        return journal.call(functools.partial(plain_call, self), args, kwargs, cache)

    return type(
        kind.__name__, (kind,), {"__call__": __call__, "__module__": kind.__module__, "recorded": True}
    )


def record(model: nn.Module) -> None:
    """Let the innermost modules of `model` that take a cache record their calls.

    Only their class changes: parameters, names and attributes stay as they are, and a call on any other
    cache does what it did. Doing it again changes nothing.
    """
    for module in model.modules():
        kind: Any = type(module)
        if not _takes_cache(kind) or getattr(module, "recorded", False):
            continue
        inner: list[Any] = [type(other) for other in module.modules() if other is not module]
        if not any(map(_takes_cache, inner)):
            module.__class__ = _recorded(kind)
