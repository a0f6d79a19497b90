"""The samples of a sweep on disk, line by line: whatever ends the program, only the run in flight is lost."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from pathlib import Path
from typing import IO, Any, TextIO

from mlx_spec.errors import SpecError

FILE = "samples.jsonl"


class Journal:
    """Appends JSON objects to a file, each on the disk before the next run begins."""

    def __init__(self, folder: Path) -> None:
        """Open the journal of a folder, which is made, and keep other sweeps out of it.

        Raises:
            SpecError: it cannot be written, or another sweep writes it.
        """
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._stream: TextIO = (folder / FILE).open("a", encoding="utf-8")
            _keep_others_out(self._stream, folder)
        except OSError as error:
            raise SpecError(
                f"{folder} cannot be written: {error.strerror}.", "Name another folder."
            ) from None

    def add(self, kind: str, entry: dict[str, Any]) -> None:
        """Append one entry and wait for the disk.

        Raises:
            SpecError: the disk is full or gone.
        """
        try:
            self._stream.write(json.dumps({"kind": kind, **entry}, allow_nan=False) + "\n")
            self._stream.flush()
            os.fsync(self._stream.fileno())
        except OSError as error:
            raise SpecError(
                f"A sample could not be written to {self.folder}: {error.strerror}.",
                "Make room and go on with --resume.",
            ) from None

    def close(self) -> None:
        # Every entry was waited for, so what may still be in the buffer is one that `add` could not write.
        with contextlib.suppress(OSError):
            self._stream.close()


def _keep_others_out(stream: IO[Any], folder: Path) -> None:
    """Lock the file until it is closed: lines of two sweeps in one journal would belong to neither.

    Raises:
        SpecError: another process has it locked.
    """
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise SpecError(
            f"Another sweep is writing to {folder}.", "Wait for its end, or name another folder."
        ) from None


def read(folder: Path) -> list[dict[str, Any]]:
    """The entries of a folder's journal. A last line that was cut short is taken off the file.

    Raises:
        SpecError: there is no journal, another sweep writes it, or a line of it is no entry.
    """
    file = folder / FILE
    try:
        with file.open("r+b") as stream:
            _keep_others_out(stream, folder)
            raw = stream.read()
            whole = raw[: raw.rfind(b"\n") + 1]
            stream.truncate(len(whole))
    except OSError as error:
        raise SpecError(
            f"{file} cannot be read: {error.strerror}.", "Name the folder of an earlier --out."
        ) from None
    entries = []
    for i, line in enumerate(whole.splitlines()):
        try:
            entry = json.loads(line)
            entry["kind"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise SpecError(
                f"Line {i + 1} of {file} is no entry of a sweep.", "Start anew in another folder."
            ) from None
        entries.append(entry)
    return entries
