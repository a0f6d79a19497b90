"""Reading text into caches: in chunks of a fixed size, with progress, until stopped.

Sizes are fixed and not timed, so that the same text always makes the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import mlx.core as mx
import mlx.nn as nn

from mlx_spec.caches import CachedModel
from mlx_spec.options import EngineOptions

# A stop is heard after a chunk, so a chunk must take no more than a second or two. A GPU is fully busy with
# so many rows. A CPU multiplies quantized weights row by row, and gains nothing by more rows at once.
METAL_CHUNK = 512
CPU_CHUNK = 64
CPU_QUANTIZED_CHUNK = 16
# Chat templates open an answer in ways that they later take back (`<think>`): so many tokens at most.
REWRITTEN = 16


def chunk_size(options: EngineOptions, model: nn.Module) -> int:
    """Tokens of a prompt that one forward of `model` reads on this device."""
    if options.prefill_chunk is not None:
        return options.prefill_chunk
    if mx.metal.is_available():
        return METAL_CHUNK
    quantized = any(isinstance(module, nn.QuantizedLinear) for module in model.modules())
    return CPU_QUANTIZED_CHUNK if quantized else CPU_CHUNK


def prompt_marks(cached: CachedModel, prompt: int) -> tuple[int, ...]:
    """Rows to mark while a prompt of `prompt` tokens is read, so that going back there costs little.

    Before its end, where a template may rewrite it in the next turn, and at its end, where a second
    answer begins. None where any row can be gone back to anyway, or nothing is remembered.
    """
    return () if cached.trims or cached.cannot_roll_back else (prompt - 1 - REWRITTEN, prompt - 1)


class Reading:
    """Reads tokens for one answer, into whichever caches need them.

    Attributes:
        chunk: tokens a forward.
        done: tokens read so far.
        total: tokens to read, as far as is known.
    """

    def __init__(
        self,
        chunk: int,
        stopped: Callable[[], bool] = lambda: False,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> None:
        """Args:
        chunk: tokens a forward.
        stopped: asked before each chunk; when true, nothing more is read.
        progress: gets (tokens read, tokens to read) after each chunk.
        """
        self.chunk = chunk
        self.done = 0
        self.total = 0
        self._stopped = stopped
        self._progress = progress

    def expect(self, tokens: int) -> None:
        """Say that so many more tokens will be read."""
        self.total += tokens

    def read(self, cached: CachedModel, tokens: Sequence[int], marks: Collection[int] = ()) -> list[int]:
        """Append `tokens` to the cache, chunk by chunk.

        Args:
            cached: a model and its cache.
            tokens: token ids.
            marks: rows at which to mark the cache; a chunk ends at each of them.

        Returns:
            The rows at which chunks ended. The last is short of the end after a stop.
        """
        first = cached.rows
        self.total = max(self.total, self.done + len(tokens))
        ends: list[int] = []
        for end in chunk_ends(first, first + len(tokens), self.chunk, marks):
            if self._stopped():
                break
            block = tokens[cached.rows - first : end - first]
            cached.prefill(block, len(block))
            if end in marks:
                cached.mark()
            ends.append(end)
            self.done += len(block)
            self._progress(self.done, self.total)
        return ends


def chunk_ends(start: int, end: int, chunk: int, marks: Collection[int] = ()) -> list[int]:
    """Where the chunks of rows `start` to `end` end: every `chunk` rows, and at each mark among them."""
    ends: list[int] = []
    for stop in sorted({end, *(mark for mark in marks if start < mark < end)}):
        ends += [*range(start + chunk, stop, chunk), stop] if start < stop else []
        start = stop
    return ends
