"""A prompt cache on disk: what a model has read, so that the next run need not read it again.

It is a safetensors file with a mark of ours. Its header is checked before MLX sees the file, whether its
rows are this model's is for the engine to say, and a file without the mark is never written to.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, cast

from app.errors import UsageError
from app.replacement import replaced
from mlx_spec.errors import SnapshotMismatch

_MARK = ("specchat", "prompt cache")  # an entry of the metadata
_LONGEST_HEADER = 4 << 20  # bytes
_LONGEST_SENTENCE = 300  # characters: it may quote the file


class PromptCache:
    """One file that an engine's text and cache are read from and written to."""

    def __init__(self, file: Path) -> None:
        """Look at the file, which need not exist, and touch nothing.

        Raises:
            UsageError: it is there and not ours, or its folder is not there.
        """
        self._damage: str | None = None
        try:
            self._file = file.resolve()  # a link stays a link when the file behind it is replaced
            if not self._file.parent.is_dir():
                raise UsageError(
                    f"There is no folder {self._file.parent} for the prompt cache.",
                    "Make it, or name another file with --cache.",
                )
            # An empty file holds nothing to lose, and is what mktemp makes.
            self._there = self._file.exists() and not (self._file.is_file() and not self._file.stat().st_size)
            if self._there:
                self._damage = _damage(self._file)
        except OSError as error:
            raise UsageError(
                f"The prompt cache {file} cannot be read: {error.strerror}.",
                "Name another file with --cache.",
            ) from None
        except (RuntimeError, ValueError):  # before Python 3.13 a loop of links; a zero byte
            raise UsageError(
                f"{str(file)!r} is no possible file for the prompt cache.", "Name another file with --cache."
            ) from None

    def load(self, engine: Any) -> str | None:
        """Let `engine` take up what the file holds; returns a sentence if it cannot."""
        if not self._there:
            return None
        if self._damage:
            return self._unused(f"it is damaged ({self._damage})")

        import mlx.core as mx

        try:
            arrays, facts = mx.load(str(self._file), format="safetensors", return_metadata=True)
            mx.eval(arrays)  # they are read only now
            engine.adopt(arrays, facts)
        except SnapshotMismatch as error:
            return self._unused(error.what)
        except (RuntimeError, OSError) as error:
            return self._unused(f"it is damaged ({error})")
        return None

    def save(self, engine: Any) -> str | None:
        """Replace the file in one step by what `engine` holds; returns a sentence if that fails."""
        import mlx.core as mx

        arrays, facts = engine.export()
        if facts["rows"] == "0":  # nothing was read: what the file holds is worth more
            return None
        try:
            with replaced(self._file) as stream:
                mx.save_safetensors(stream, arrays, facts | dict([_MARK]))
        except OSError as error:
            return f"The prompt cache {self._file} could not be saved: {error.strerror or error}."
        return None

    def _unused(self, why: str) -> str:
        sentence = f"The prompt cache {self._file} is not used: {why}"
        return f"{sentence[:_LONGEST_SENTENCE]}. The text is read again, and the file replaced at the end."


def _damage(file: Path) -> str | None:
    """What is wrong with a file of ours, as a phrase; None if its header and its size agree.

    Raises:
        UsageError: it is not ours.
        OSError: it cannot be read.
    """
    stranger = UsageError(
        f"{file} is no prompt cache of specchat, so it is not written to.", "Name another file with --cache."
    )
    if not file.is_file():  # a pipe would wait for a writer
        raise stranger
    size = file.stat().st_size
    with file.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if not 0 < length <= min(_LONGEST_HEADER, size - 8):
            raise stranger
        try:
            header = json.loads(stream.read(length))
            mark = header["__metadata__"][_MARK[0]]
        except (ValueError, TypeError, LookupError, RecursionError):
            raise stranger from None
    if mark != _MARK[1]:
        raise stranger
    if size > os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"):
        return "it is larger than this machine's memory"
    try:
        ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
        wanted = 8 + length + cast(int, max(ends, default=0))
    except (TypeError, LookupError):
        return "its header makes no sense"
    return None if size == wanted else f"it has {size} bytes and should have {wanted}"
