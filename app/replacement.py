"""A file that is replaced by another as a whole, or stays as it is."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replaced(file: Path) -> Iterator[BinaryIO]:
    """A new file that takes the place of `file` once it is whole; its owner alone can read it."""
    descriptor, name = tempfile.mkstemp(prefix=f".{file.name[:64]}.", dir=file.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).replace(file)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
