"""Ctrl+C and the ends that other programs ask for, taken where nothing is lost by it."""

from __future__ import annotations

import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

_WATCHED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_NUDGE = signal.SIGURG  # which is nobody's, and ends nothing by itself
_AFTER = 0.2  # seconds from a signal to the nudge


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
        self._before[_NUDGE] = signal.signal(_NUDGE, lambda _number, _frame: None)
        self._listener, self._writer = socket.socketpair()
        self._writer.setblocking(False)
        signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        self._nudger = threading.Thread(target=self._nudge, args=(threading.get_ident(),), name="nudge")
        self._nudger.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.set_wakeup_fd(-1)
        self._writer.close()
        self._nudger.join()
        self._listener.close()
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

    def _nudge(self, thread: int) -> None:
        """Signal again after each signal.

        One that comes between the prompt and the wait for a key is noted, but wakes nobody; the next does.
        """
        while number := self._listener.recv(1):
            if number[0] in _WATCHED:
                time.sleep(_AFTER)
                signal.pthread_kill(thread, _NUDGE)

    def _take(self, number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGINT:
            self.presses += 1
        else:
            self.end = 128 + number
        if self._reading:
            raise KeyboardInterrupt
