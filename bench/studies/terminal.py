"""A program in a terminal of its own, as a person has it: keys go in, and what it writes is read."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence


class Terminal:
    """One program until it is closed.

    Attributes:
        started: when it was, by the clock of `time.perf_counter`.
        spent: seconds of processor time, once it is closed.
    """

    def __init__(
        self, command: Sequence[str], *, env: Mapping[str, str], columns: int = 100, rows: int = 40
    ) -> None:
        self._mine, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.started = time.perf_counter()
        self._process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env=env, start_new_session=True
        )
        os.close(theirs)
        self._recent = b""
        self.spent = 0.0

    def type(self, keys: str) -> None:
        """Press keys."""
        self._recent = b""
        os.write(self._mine, keys.encode())

    def read(self, seconds: float) -> None:
        """Take in what the program writes within so many seconds, or until it has written something.

        Raises:
            EOFError: it has ended.
        """
        if select.select([self._mine], [], [], seconds)[0]:
            try:
                self._recent += os.read(self._mine, 1 << 16)
            except OSError as error:  # as Linux tells of a terminal that nobody writes to
                said = self._recent.decode(errors="replace")[-500:]
                raise EOFError(f"the program ended, and said: {said}") from error

    def wait_for(self, text: str, seconds: float = 60.0) -> float:
        """Wait until the program has written `text` since the last key.

        Returns:
            When it had, by the clock of `time.perf_counter`.

        Raises:
            TimeoutError: it has not.
        """
        until = time.perf_counter() + seconds
        while text.encode() not in self._recent:
            if time.perf_counter() > until:
                raise TimeoutError(f"the program did not write {text!r} within {seconds:.0f} s")
            self.read(0.05)
        return time.perf_counter()

    @property
    def memory(self) -> int:
        """Resident bytes."""
        told = subprocess.run(
            ["ps", "-o", "rss=", "-p", str(self._process.pid)], capture_output=True, text=True, check=True
        )
        return int(told.stdout) * 1024

    def close(self) -> None:
        """End the program, and note what it spent."""
        os.kill(self._process.pid, signal.SIGKILL)
        _, status, used = os.wait4(self._process.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        self.spent = used.ru_utime + used.ru_stime
        os.close(self._mine)
