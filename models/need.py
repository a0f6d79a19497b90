"""How much memory a pair needs, and whether this machine has it. Arithmetic alone."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from models.amount import in_bytes
from models.size import Size

CONTEXT = 8192  # tokens of context that a need is stated for, unless the model has fewer

# Metal keeps 65% to 75% of a Mac's memory for the GPU (sgl-project/sglang#29949); examples: 10.67 of 16 GB
# on an M4 (exo-explore/exo#1672), 11.84 of 16 on an M3 (AlexsJones/llmfit#754). Elsewhere other programs
# need a part.
SURE_SHARE, MOST_SHARE = 0.65, 0.75

Fit = Literal["fits", "tight", "too large"]


@dataclass(frozen=True)
class Need:
    """Bytes that some models need at once.

    Attributes:
        weights: of all of them.
        kv: their caches of `context` tokens; None if a size of an entry is not known.
        context: tokens.
    """

    weights: float
    kv: float | None
    context: int

    @property
    def total(self) -> float:
        return self.weights + (self.kv or 0.0)

    def fit(self, memory: float) -> Fit:
        """Whether a machine with `memory` bytes has room."""
        if self.total <= SURE_SHARE * memory:
            return "fits"
        return "tight" if self.total <= MOST_SHARE * memory else "too large"

    def sentence(self, memory: float, subject: str = "It") -> str:
        """Whether `subject` fits, what is needed, and of what."""
        if self.kv is None:
            parts = f"{in_bytes(self.weights)} of weights; what its context takes is not known"
        else:
            parts = f"{in_bytes(self.weights)} of weights, {in_bytes(self.kv)} for {self.context:,} tokens"
        verdict, advice = {
            "fits": ("fits", ""),
            "tight": ("is tight", " Close other programs."),
            "too large": (
                "is too large",
                f" A model may use about {in_bytes(SURE_SHARE * memory)} here.",
            ),
        }[self.fit(memory)]
        return f"{subject} {verdict}: needs {in_bytes(self.total)} of {in_bytes(memory)} ({parts}).{advice}"


def need(sizes: Sequence[Size], context: int = CONTEXT) -> Need:
    """What these models need together, with a KV cache each of `context` tokens in 16 bits."""
    entries = [size.kv_bytes for size in sizes]
    kv = None if None in entries else sum(entry or 0.0 for entry in entries) * context
    return Need(sum(size.nbytes for size in sizes), kv, context)


def machine_memory() -> int:
    """Bytes of this machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
