"""Which modules write a recurrent state, and how a journal hears of their calls.

A forward whose graph is built and never computed shows who writes. Those modules get a class of their
own kind that reports calls to the cache's journal. Only the class changes: parameters, names and
attributes stay as they are, and a call on any other cache does what it did.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import mlx.core as mx
import mlx.nn as nn

from mlx_spec.caches.journal import Call, Journal
from mlx_spec.caches.recurrent import RecurrentCache, Unrecorded, Writes


class Tracer:
    """Notes, for every write, the innermost module that was given the cache."""

    def __init__(self) -> None:
        self.layers: list[RecurrentCache] = []
        self.writers: list[nn.Module] = []
        self._running: list[nn.Module] = []

    def call(self, call: Call) -> Any:
        """Run a module's call."""
        self._running.append(call.args[0])
        result = call.run()
        self._running.pop()
        return result

    def written(self) -> None:
        """A state is being written; raises `Unrecorded` if no module was given its cache."""
        if not self._running:
            raise Unrecorded
        self.writers.append(self._running[-1])


def record(model: nn.Module, fresh: Callable[[Writes], list[Any]]) -> str | None:
    """Record the modules of `model` that write recurrent states, if there are any, from now on.

    Args:
        model: of mlx-lm.
        fresh: makes its caches, with the recurrent ones reporting to what is given.

    Returns:
        Why it cannot be done, as a clause; None if it is done or there is nothing to do.
    """
    tracer = Tracer()
    layers = fresh(tracer)
    if not tracer.layers:
        return None
    tokens = mx.zeros((1, 3), mx.uint32)
    candidates = [m for m in model.modules() if _takes_cache(type(m)) and not hasattr(m, "recorded")]
    try:
        for module in candidates:
            kind: Any = type(module)
            module.__class__ = _recorded(kind)
        model(tokens, cache=layers)
    except Unrecorded:
        return "this model's recurrent layers write states in a way that cannot be recorded"
    finally:
        writers = {id(module) for module in tracer.writers}
        for module in candidates:
            if id(module) not in writers:
                module.__class__ = type(module).__base__
    return _try_going_back(model, tokens, fresh)


def _try_going_back(model: nn.Module, tokens: mx.array, fresh: Callable[[Writes], list[Any]]) -> str | None:
    journal = Journal()
    layers = fresh(journal)
    journal.begin(0, tokens.size)
    model(tokens, cache=layers)
    try:
        journal.rollback(1)
    except ValueError as error:
        return f"this model's recurrent layers cannot be run on a part of their inputs ({error})"
    return None


def _takes_cache(kind: Any) -> bool:
    return "cache" in inspect.signature(kind.__call__).parameters


@functools.cache
def _recorded(kind: Any) -> Any:
    """A class like `kind` whose calls on a cache with a journal are reported to it."""
    position = list(inspect.signature(kind.__call__).parameters).index("cache") - 1
    plain_call = kind.__call__

    @functools.wraps(plain_call)
    def __call__(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        cache = args[position] if len(args) > position else kwargs.get("cache")
        journal = getattr(cache, "journal", None)
        if journal is None:
            return plain_call(self, *args, **kwargs)
        return journal.call(Call(plain_call, (self, *args), kwargs, cache))

    return type(
        kind.__name__, (kind,), {"__call__": __call__, "__module__": kind.__module__, "recorded": True}
    )
