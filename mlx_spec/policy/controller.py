"""Which K to use next: the protocol, the report of a step, fixed or "auto". Pure code, no MLX, no clock."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from statistics import median
from typing import Literal, Protocol

State = Literal["off", "measuring", "speculating", "parked"]


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


class Controller(Protocol):
    """Chooses K round by round.

    Attributes:
        state: what it is doing.
        reason: a clause for states other than speculating; None otherwise.
    """

    state: State
    reason: str | None

    def next_k(self) -> int:
        """Draft tokens to ask for next; 0 is a plain step. Asking twice changes nothing."""

    def observe(self, step: Step) -> None:
        """Take note of a step."""


class FixedK:
    """Always the same K; 0 with a reason is speculation switched off."""

    def __init__(self, k: int, reason: str | None = None) -> None:
        self._k = k
        self.state: State = "speculating" if k else "off"
        self.reason = reason

    def next_k(self) -> int:
        return self._k

    def observe(self, step: Step) -> None:
        """A fixed K learns nothing."""


class TrialK:
    """Measures some plain steps, tries K, and parks for a while when that was slower than plain.

    A simple rule until costs and hazards are measured apart: a trial of rounds whose tokens came
    slower than the plain steps before it parks speculation; each failed trial in a row doubles the
    rest.
    """

    K = 4
    PLAIN_STEPS = 8
    WARM_UP = 2  # first plain steps after a change, not typical
    TRIAL_ROUNDS = 6
    FIRST_REST = 64  # tokens
    LONGEST_REST = 1024

    def __init__(self) -> None:
        self.state: State = "measuring"
        self.reason: str | None = "measuring plain decoding first"
        self._plain: deque[float] = deque(maxlen=self.PLAIN_STEPS)
        self._skip = self.WARM_UP
        self._rest = self.FIRST_REST
        self._resting = 0
        self._start_trial()

    def _start_trial(self) -> None:
        self._rounds = self._tokens = 0
        self._seconds = 0.0

    def next_k(self) -> int:
        return self.K if self.state == "speculating" else 0

    def observe(self, step: Step) -> None:
        if step.drafted == 0:
            self._observe_plain(step.seconds)
        else:
            self._observe_trial(step.emitted, step.seconds)

    def _observe_plain(self, seconds: float) -> None:
        if self.state == "speculating":  # the source had nothing to propose: no pipelined baseline step
            return
        if self._skip:
            self._skip -= 1
        else:
            self._plain.append(seconds)
        self._resting -= 1
        if len(self._plain) == self.PLAIN_STEPS and self._resting <= 0:
            self.state, self.reason = "speculating", None
            self._start_trial()

    def _observe_trial(self, emitted: int, seconds: float) -> None:
        self._rounds += 1
        self._tokens += emitted
        self._seconds += seconds
        if self._rounds < self.TRIAL_ROUNDS:
            return
        ratio = self._tokens * median(self._plain) / self._seconds
        if ratio >= 1:
            self._rest = self.FIRST_REST
        else:
            self.state = "parked"
            self.reason = (
                f"the last {self._rounds} rounds at K={self.K} ran at {ratio:.2f}x plain decoding, "
                f"so speculation rests for {self._rest} tokens"
            )
            self._resting, self._rest = self._rest, min(2 * self._rest, self.LONGEST_REST)
            self._skip = self.WARM_UP
        self._start_trial()
