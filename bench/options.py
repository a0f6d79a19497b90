"""What a person may choose of a sweep, with every default. Imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

KS = (1, 2, 3, 4, 6, 8)
QUICK_KS = (2, 4)
TOKENS = 64
QUICK_TOKENS = (32, 24, 16, 12)  # as many as the time allows
PROMPTS = 24
MOST_REPEATS = 100
QUICK_SECONDS = 100.0  # for warming up and blocks; loading comes before, splits after


@dataclass(frozen=True)
class Options:
    """What a person may choose.

    Attributes:
        peers: compare with other programs instead of sweeping K.
        quick: in less than two minutes.
        ks: to sweep; None takes the default of the mode.
        sources: draft sources, as `--draft` names them.
        prompts: how many at most, evenly from all classes; 0 takes all.
        repeats: blocks of each prompt.
        tokens: of an answer at most; None takes the default of the mode.
        seed: of the order, and of sampled prompts.
        folder: where samples are kept as they come; None keeps none.
        resume: the folder holds a sweep to go on with.
    """

    peers: bool = False
    quick: bool = False
    ks: tuple[int, ...] | None = None
    sources: tuple[str, ...] = ("lookup",)
    prompts: int = PROMPTS
    repeats: int = 1
    tokens: int | None = None
    seed: int = 0
    folder: Path | None = None
    resume: bool = False
