"""Which K to use next: the protocol, and the K that never changes. Pure code, no MLX, no clock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from mlx_spec.policy.record import Record
from mlx_spec.policy.step import Step
from mlx_spec.policy.table import CostTable

State = Literal["off", "measuring", "speculating", "parked"]


class Controller(Protocol):
    """Chooses K round by round.

    Attributes:
        most: the largest K that it may name.
    """

    most: int

    @property
    def record(self) -> Record | None:
        """What was measured; None where the source is never asked."""

    @property
    def state(self) -> State:
        """What it is doing."""

    def begin(self, depth: int, behind: int = 0) -> None:
        """Take note of a new answer.

        Args:
            depth: committed tokens before it.
            behind: how many of them the source must read before it can be asked.
        """

    def prefilled(self, tokens: int, seconds: float) -> None:
        """Take note of a prompt's tokens that the target has read, and of the time it took."""

    def next_k(self) -> int:
        """Draft tokens to ask for next; 0 is a plain step. Asking twice changes nothing."""

    def observe(self, step: Step) -> None:
        """Take note of a step."""


class Off:
    """Never speculates."""

    most = 0
    record = None
    state: State = "off"

    def __init__(self, reason: str, by_user: bool = False) -> None:
        """Args:
        reason: a clause.
        by_user: whether the user wants it so; else the pair cannot.
        """
        self.reason = reason
        self.by_user = by_user

    def begin(self, depth: int, behind: int = 0) -> None:
        """Nothing to note."""

    def prefilled(self, tokens: int, seconds: float) -> None:
        """Nothing to note."""

    def next_k(self) -> int:
        return 0

    def observe(self, step: Step) -> None:
        """Nothing to note."""


class FixedK:
    """Always the same K; it measures, but never acts on it.

    It has no plain steps to compare with: those of a probe stand for them, scaled as the machine drifts.
    """

    state: State = "speculating"

    def __init__(self, k: int, tables: Sequence[CostTable] = ()) -> None:
        """Args:
        k: at least 1.
        tables: of a probe, one a depth; without them no speedup can be told.
        """
        self.most = k
        self.record = Record(tables, k)

    def begin(self, depth: int, behind: int = 0) -> None:
        self.record.begin(depth)

    def prefilled(self, tokens: int, seconds: float) -> None:
        """Its source is asked in any case."""

    def next_k(self) -> int:
        return self.most

    def observe(self, step: Step) -> None:
        self.record.observe(step)
