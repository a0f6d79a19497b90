"""A download on a thread of its own: with its rate, the time that is left, pause and resume."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from models.amount import in_bytes, in_time
from models.errors import ModelError, first_line
from models.reference import Reference

State = Literal["asking", "running", "pausing", "paused", "done", "failed"]

WINDOW = 10.0  # seconds that the rate is of
PATIENCE = 2.0  # seconds that `close` waits for the thread


@dataclass(frozen=True)
class Progress:
    """How far a download is.

    Attributes:
        state: asking the hub first; pausing until the piece that comes is written.
        ref: of the repository that comes now.
        here: bytes that are on this machine.
        total: bytes in all; 0 while that is not known.
        rate: bytes a second lately; None while that is not known.
        message: what went wrong, or what else there is to say: a sentence, or empty.
        next_step: what to do about it; may be empty.
    """

    state: State
    ref: str = ""
    here: int = 0
    total: int = 0
    rate: float | None = None
    message: str = ""
    next_step: str = ""

    @property
    def share(self) -> float:
        """From 0 to 1."""
        return self.here / self.total if self.total else 0.0

    @property
    def left(self) -> float | None:
        """Seconds that the rest takes at this rate; None while that is not known."""
        return (self.total - self.here) / self.rate if self.rate and self.state == "running" else None

    @property
    def words(self) -> str:
        """All of it in one line."""
        if not self.total:
            return {"asking": "asking the hub", "failed": "failed"}.get(self.state, self.state)
        # Never 100% of what is not whole.
        percent = min(int(100 * self.share), 100 if self.state == "done" else 99)
        parts = [f"{percent}% of {in_bytes(self.total)}"]
        if self.state == "running":
            parts.append(f"{in_bytes(self.rate)}/s" if self.rate else "waiting for the hub")
            parts += [f"{in_time(self.left)} left"] if self.left is not None else []
        elif self.state != "done":
            parts.append(self.state)
        return " · ".join(parts)


class _Paused(Exception):
    """Raised out of the download, where a pause was asked for."""


class Pull:
    """The download of some repositories, one after the other. Its methods never wait, but for `close`.

    What has come stays on the disk, whether the download is paused, fails, or its process is killed, and
    the next download of the same repository goes on from there.
    """

    def __init__(self, *refs: str, clock: Callable[[], float] = time.monotonic) -> None:
        """Args:
        refs: hub repositories, `org/name[@revision]`, at least one.
        clock: in seconds.

        Raises:
            ModelError: one of them names no repository.
        """
        self.refs = refs
        self._references = [Reference.parse(ref) for ref in refs]
        for reference in self._references:
            if reference.repository is None:
                raise ModelError(f"{reference.text} is on this machine.", "Choose it in the list.")
        self._clock = clock
        self._lock = threading.Lock()
        self._progress = Progress("paused", refs[0])
        self._wanted = threading.Event()
        self._moves: deque[tuple[float, int]] = deque()
        self._thread: threading.Thread | None = None

    @property
    def progress(self) -> Progress:
        """How far it is now."""
        with self._lock:
            return self._progress

    @property
    def active(self) -> bool:
        """Whether its thread runs."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Begin, or go on after a pause or a failure. Harmless while it runs."""
        self._wanted.set()
        with self._lock:
            if self._progress.state in ("asking", "running", "pausing"):
                if self._progress.state == "pausing":
                    self._progress = replace(self._progress, state="running")
                return
            self._progress = replace(self._progress, state="asking", rate=None, message="", next_step="")
            # Not waited for at the end of the program: a hub that says nothing would hold it up.
            self._thread = threading.Thread(target=self._run, name="download", daemon=True)
        self._thread.start()

    def pause(self) -> None:
        """Stop after the piece that is coming; `start` goes on from there."""
        self._wanted.clear()
        with self._lock:
            if self._progress.state in ("asking", "running"):
                self._progress = replace(self._progress, state="pausing")

    def close(self) -> None:
        """Pause, and wait a little for that."""
        self.pause()
        if self._thread is not None:
            self._thread.join(PATIENCE)

    def _run(self) -> None:
        # Read by the client when it is first imported.
        os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
        while True:
            ending = self._fetch()
            with self._lock:
                # A start that came after the pause was heard, and before this.
                if ending.state == "paused" and self._wanted.is_set():
                    continue
                self._progress = ending
                return

    def _fetch(self) -> Progress:
        """Download, and say how that ended."""
        try:
            # Only now: the hub's client takes a while to import.
            from models import hub

            for reference in self._references:
                assert reference.repository is not None
                self._begin(reference.text)
                hub.fetch(reference.repository, reference.revision, self._note, self._moved)
        except _Paused:
            return replace(self.progress, state="paused", rate=None)
        except ModelError as error:
            return self._failed(error.message, error.next_step)
        except OSError as error:
            place = error.filename or self.progress.ref
            return self._failed(
                f"{place} cannot be used ({error.strerror or error}).", "Check the disk and its permissions."
            )
        except Exception as error:  # noqa: BLE001 - nobody else hears a thread
            return self._failed(
                f"The download of {self.progress.ref} failed ({first_line(error)}).", "Try again."
            )
        return replace(self.progress, state="done", rate=None, message="", here=self.progress.total)

    def _begin(self, ref: str) -> None:
        self._moves.clear()
        with self._lock:
            if self._progress.ref != ref:
                self._progress = Progress(self._progress.state, ref)

    def _failed(self, message: str, next_step: str) -> Progress:
        return replace(self.progress, state="failed", rate=None, message=message, next_step=next_step)

    def _note(self, sentence: str) -> None:
        if "Downloading" not in sentence:  # the progress itself says that better
            with self._lock:
                self._progress = replace(self._progress, message=sentence)

    def _moved(self, here: int, total: int, came: int) -> None:
        now = self._clock()
        self._moves.append((now, came))
        while len(self._moves) > 2 and now - self._moves[0][0] > WINDOW:
            self._moves.popleft()
        since = self._moves[0][0]
        # What came up to the first moment came before the time that is counted.
        bytes_since = sum(came for _, came in self._moves) - self._moves[0][1]
        rate = bytes_since / (now - since) if now > since and bytes_since else None
        with self._lock:
            state: State = "running" if self._wanted.is_set() else "pausing"
            self._progress = replace(self._progress, state=state, here=here, total=total, rate=rate)
        if not self._wanted.is_set():
            raise _Paused
