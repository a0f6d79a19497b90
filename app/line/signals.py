"""Ctrl+C and the ends that other programs ask for, taken where nothing is lost by it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

_WATCHED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Signals:
    """Within, a signal breaks nothing off but the reading of a line; elsewhere it is only noted.

    Attributes:
        presses: of Ctrl+C, since somebody set it to 0.
        end: the exit code of a program that was told to end, or None.
    """

    def __init__(self) -> None:
        self.presses = 0
        self.end: int | None = None
        self._reading = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Signals:
        self._before = {number: signal.signal(number, self._take) for number in _WATCHED}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def breaking(self) -> Iterator[None]:
        """Within, every signal raises KeyboardInterrupt."""
        self._reading = True
        try:
            yield
        finally:
            self._reading = False

    def check(self) -> None:
        """Raise SystemExit if the program was told to end."""
        if self.end is not None:
            raise SystemExit(self.end)

    def _take(self, number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGINT:
            self.presses += 1
        else:
            self.end = 128 + number
        if self._reading:
            raise KeyboardInterrupt
