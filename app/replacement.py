"""A file that is replaced by another as a whole, or stays as it is."""

from __future__ import annotations

import fcntl
import glob
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

_UNFINISHED = ".unfinished"  # ends the name of a file that is being written


@contextmanager
def replaced(file: Path) -> Iterator[BinaryIO]:
    """A new file that takes the place of `file` once it is whole; its owner alone can read it."""
    start = f".{file.name[:64]}."
    _sweep(file.parent, start)
    descriptor, name = tempfile.mkstemp(prefix=start, suffix=_UNFINISHED, dir=file.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            with suppress(OSError):  # some network disks have no locks
                fcntl.flock(stream, fcntl.LOCK_SH)
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            Path(name).replace(file)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def _sweep(folder: Path, start: str) -> None:
    """Remove what saves that were killed have left: whoever still writes one holds its lock."""
    for left in folder.glob(f"{glob.escape(start)}*{_UNFINISHED}"):
        with suppress(OSError), left.open("rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            left.unlink()
