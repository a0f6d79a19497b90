"""Which K to use next: fixed, or "auto" by a trial against plain decoding. Pure code, no MLX, no clock."""

from __future__ import annotations

from collections import deque
from statistics import median
from typing import Literal, Protocol

State = Literal["off", "measuring", "speculating", "parked"]


class Controller(Protocol):
    """Chooses K round by round.

    Attributes:
        state: what it is doing.
        reason: one sentence for states other than speculating; None otherwise.
    """

    state: State
    reason: str | None

    def next_k(self) -> int:
        """Draft tokens for the next round; 0 is a plain step."""

    def observe(self, k: int, emitted: int, seconds: float) -> None:
        """Take note of a round: `k` drafted, `emitted` tokens, wall time in seconds."""


class FixedK:
    """Always the same K; 0 with a reason is speculation switched off."""

    def __init__(self, k: int, reason: str | None = None) -> None:
        self._k = k
        self.state: State = "speculating" if k else "off"
        self.reason = reason

    def next_k(self) -> int:
        return self._k

    def observe(self, k: int, emitted: int, seconds: float) -> None:
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

    def observe(self, k: int, emitted: int, seconds: float) -> None:
        if k == 0:
            self._observe_plain(seconds)
        else:
            self._observe_trial(emitted, seconds)

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
