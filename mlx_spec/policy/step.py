"""One step of the engine, as a controller is told of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """One round or plain step, as the engine saw it.

    Attributes:
        asked: K that the source was asked for; 0 if it was not asked, as in a pipelined plain step.
        drafted: tokens that it proposed and the target verified; 0 of `asked` > 0 is a step in which
            the source had nothing, which was neither a round nor a pipelined plain step.
        emitted: tokens that the step gave, accepted + 1.
        seconds: wall time.
        depth: committed tokens before it.
    """

    asked: int
    drafted: int
    emitted: int
    seconds: float
    depth: int = 0
