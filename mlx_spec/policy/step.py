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
        read: committed tokens that the source had to read before it, to catch up.
        reading_s: wall time of that, which is no part of `seconds`: no round of this K costs it again.
        behind: committed tokens that the source must read before it can be asked next.
    """

    asked: int
    drafted: int
    emitted: int
    seconds: float
    depth: int = 0
    read: int = 0
    reading_s: float = 0.0
    behind: int = 0
