"""The trace: one JSON line a round, with every drafted token, so that each proposal can be measured."""

from __future__ import annotations

import json
from typing import Any, TextIO

from mlx_spec.errors import SpecError


class Trace:
    """Writes JSON lines to a text stream, each flushed: a crash loses at most the round in flight."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def begin(self, **facts: Any) -> None:
        """Open a generation: prompt length, source, sampling."""
        self._write({"event": "begin", **facts})

    def round(self, **facts: Any) -> None:
        """One round: its position, K, drafted and emitted token ids, how many were accepted, seconds."""
        self._write({"event": "round", **facts})

    def end(self, **facts: Any) -> None:
        """Close a generation: why it ended, how many tokens it gave."""
        self._write({"event": "end", **facts})

    def _write(self, line: dict[str, Any]) -> None:
        try:
            self._stream.write(json.dumps(line) + "\n")
            self._stream.flush()
        except OSError as error:
            raise SpecError(
                f"The trace cannot be written: {error.strerror}.",
                "Make room for it, or go on without a trace.",
            ) from error
