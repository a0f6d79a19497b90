"""From measurements to one verdict with one cause and one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["measuring", "paying", "parked", "slower", "off"]
Cause = Literal["verification", "cliff", "draft", "acceptance", "overhead", "context", "user", "pair"]


@dataclass(frozen=True)
class Verdict:
    """What speculation does for the user, and why.

    Attributes:
        kind: measuring: not known yet. paying: faster than plain. parked: K=0, since it would be slower.
            slower: a fixed K that runs below plain. off: the user said so, or the pair cannot.
        cause: of parked and slower, the factor whose ideal value would lift the predicted speedup most;
            of off, user or pair; None otherwise.
        sentence: all of it in words, with the measured numbers.
        facts: the numbers, JSON-ready: `speedup`, `verify_cost` (V(M) by M), `serial_index`,
            `serialized`, `draft_cost` (c), `acceptance`, `predicted`; None where unknown.
    """

    kind: Kind
    cause: Cause | None
    sentence: str
    facts: Mapping[str, Any] = field(default_factory=dict)
