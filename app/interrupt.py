"""Ctrl+C while an answer is generated: the first press stops it, the second ends the process."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from app.errors import INTERRUPTED


@contextmanager
def first_calls(stop: Callable[[], None]) -> Iterator[None]:
    """Within, the first Ctrl+C calls `stop` from another thread; the second ends the process at once.

    Python runs signal handlers between two instructions of its main thread, and one forward pass may
    keep that thread for seconds. The byte that a signal writes to the wakeup socket does not wait.

    Args:
        stop: is thread-safe and returns at once.
    """
    reader, writer = socket.socketpair()
    writer.setblocking(False)

    def watch() -> None:
        presses = 0
        while number := reader.recv(1):
            presses += number[0] == signal.SIGINT
            if presses == 1:
                stop()
            elif presses > 1:
                os._exit(INTERRUPTED)

    watcher = threading.Thread(target=watch, name="interrupt", daemon=True)
    watcher.start()
    handler = signal.signal(signal.SIGINT, lambda _number, _frame: None)
    wakeup = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(wakeup)
        signal.signal(signal.SIGINT, handler)
        writer.close()
        watcher.join()
        reader.close()
