"""Who writes an answer: a file that its process keeps locked, so that the living can be told from the dead.

The system drops a lock with the process that held it, however that ended. A process number would tell less:
it is given out again. A writer without a file is dead.
"""

from __future__ import annotations

import fcntl
import glob
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO


class Lease:
    """One writer of the store at a path.

    Attributes:
        writer: its name, which no other writer ever has.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.writer = secrets.token_hex(8)
        self._file: BinaryIO | None = None

    def hold(self) -> str:
        """Begin to be alive, or go on; returns the writer's name.

        Raises:
            OSError: the file cannot be made.
        """
        while self._file is None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC
            file = os.fdopen(os.open(self._file_of(self.writer), flags, 0o600), "wb")
            with suppress(OSError):  # on a disk without locks others take us for dead until the answer ends
                fcntl.flock(file, fcntl.LOCK_EX)
            if os.fstat(file.fileno()).st_nlink:
                self._file = file
            else:  # somebody found it before it was locked, and took it for a dead one's
                file.close()
        return self.writer

    def sweep(self) -> None:
        """Remove the leases of the dead."""
        start = self._file_of("").name
        for file in self._path.parent.glob(f"{glob.escape(start)}*"):
            self.is_dead(file.name.removeprefix(start))

    def is_dead(self, writer: str) -> bool:
        """No process holds the lease of `writer`; what such a one left is removed."""
        file = self._file_of(writer)
        try:
            with file.open("rb") as stream:
                fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
                file.unlink(missing_ok=True)
        except BlockingIOError:
            return False
        except OSError:  # a disk without locks
            return True
        return True

    def release(self) -> None:
        """Be dead."""
        if self._file is not None:
            self._file_of(self.writer).unlink(missing_ok=True)
            self._file.close()
            self._file = None

    def _file_of(self, writer: str) -> Path:
        return self._path.with_name(f"{self._path.name}.writer-{writer}")
