"""What a caller may ask of the engine, with the one place for each default.

Imports nothing heavy: the command line reads these defaults for `--help` without loading MLX.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Sampling:
    """How the target's next-token law is made from its logits.

    The warpers have the order and the meaning of mlx-lm: bias, penalties and minimum length on the
    logits; top-p, min-p, XTC, top-k on the untempered probabilities; then temperature.

    Attributes:
        temperature: 0 is greedy (argmax); above it, logits are divided by it.
        top_p: keep the smallest set of tokens with this mass; 1 (or 0) keeps all.
        top_k: keep this many tokens; 0 (or more than the vocabulary) keeps all.
        min_p: drop tokens below this share of the top token's probability; 0 keeps all.
        xtc_probability: how often to drop every token above the threshold but the least likely.
        xtc_threshold: the probability above which XTC drops.
        repetition_penalty: divides the positive logits of recent tokens, multiplies negative ones; 1 is off.
        presence_penalty: subtracted from the logits of recent tokens; 0 is off.
        frequency_penalty: subtracted once for each recent occurrence; 0 is off.
        penalty_context: how many tokens are recent.
        logit_bias: (token id, bias) pairs, added to the logits.
        min_tokens: no end token before this many.
        seed: 64-bit seed; None draws a fresh one for each generation.
        seed_exact: couple target and source by shared noise, so that the answer is plain decoding's
            own for that seed whatever was drafted. It costs a few points of acceptance.
    """

    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    xtc_probability: float = 0.0
    xtc_threshold: float = 0.1
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    penalty_context: int = 20
    logit_bias: tuple[tuple[int, float], ...] = ()
    min_tokens: int = 0
    seed: int | None = None
    seed_exact: bool = False

    def __post_init__(self) -> None:
        if not (math.isfinite(self.temperature) and self.temperature >= 0):
            raise ValueError(f"temperature must be a finite number of at least 0, not {self.temperature}")
        if not 0 <= self.top_p <= 1:
            raise ValueError(f"top-p must lie between 0 and 1, not {self.top_p}")
        if not 0 <= self.min_p <= 1:
            raise ValueError(f"min-p must lie between 0 and 1, not {self.min_p}")
        if self.top_k < 0:
            raise ValueError(f"top-k must be at least 0, not {self.top_k}")
        if not 0 <= self.xtc_probability <= 1:
            raise ValueError(f"XTC probability must lie between 0 and 1, not {self.xtc_probability}")
        if not 0 <= self.xtc_threshold <= 0.5:
            raise ValueError(f"XTC threshold must lie between 0 and 0.5, not {self.xtc_threshold}")
        if not (math.isfinite(self.repetition_penalty) and self.repetition_penalty > 0):
            raise ValueError(f"repetition penalty must be above 0, not {self.repetition_penalty}")
        for name, penalty in (("presence", self.presence_penalty), ("frequency", self.frequency_penalty)):
            if not math.isfinite(penalty):
                raise ValueError(f"{name} penalty must be a finite number, not {penalty}")
        if self.penalty_context < 1:
            raise ValueError(f"penalty context must be at least 1 token, not {self.penalty_context}")
        if any(math.isnan(bias) or bias == math.inf for _, bias in self.logit_bias):
            raise ValueError("a logit bias must be a finite number, or -inf to forbid the token")
        if self.min_tokens < 0:
            raise ValueError(f"min tokens must be at least 0, not {self.min_tokens}")
        if self.seed is not None and not 0 <= self.seed < 2**64:
            raise ValueError(f"seed must be a whole number from 0 to 2^64 - 1, not {self.seed}")

    @property
    def greedy(self) -> bool:
        return self.temperature == 0

    @property
    def stretch(self) -> float:
        """How many times wider a difference of logits may get by the penalties."""
        return max(self.repetition_penalty, 1 / self.repetition_penalty)

    @property
    def penalizes(self) -> bool:
        """Whether recent tokens change the law."""
        return (self.repetition_penalty, self.presence_penalty, self.frequency_penalty) != (1, 0, 0)


@dataclass(frozen=True)
class Limits:
    """When a generation ends besides at an end token.

    Attributes:
        max_tokens: tokens to generate at most; -1 goes on to an end token or the end of the context.
        stop: strings that end the answer and are never shown.
    """

    max_tokens: int = 1024
    stop: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.max_tokens == 0 or self.max_tokens < -1:
            raise ValueError(f"max tokens must be at least 1, or -1 for no limit, not {self.max_tokens}")
        if isinstance(self.stop, str):
            raise ValueError(f"stop must be several strings, not the one string {self.stop!r}")
        if not all(self.stop):
            raise ValueError("a stop string must not be empty")


@dataclass(frozen=True)
class EngineOptions:
    """How one engine decodes, for all its generations.

    Attributes:
        k: draft tokens a round: a number, or "auto" to choose while running.
        kv_bits: bits of a quantized KV cache (2, 3, 4, 6 or 8); None keeps the model's own precision.
        context: tokens of context to use at most; None takes the model's own limit.
        prefill_chunk: prompt tokens a forward pass while the prompt is read; None chooses by device.
        exactness: "fast" takes the verified rows as they are; "strict" decides near-ties of greedy
            sampling on rows that plain decoding would have made.
        paranoid: compare the caches with a fresh reading of the committed text after every round.
        details: tell of each round what was drafted and how likely the target had it.
    """

    k: int | str = "auto"
    kv_bits: int | None = None
    context: int | None = None
    prefill_chunk: int | None = None
    exactness: Literal["fast", "strict"] = "fast"
    paranoid: bool = False
    details: bool = False

    MAX_K = 16

    def __post_init__(self) -> None:
        if self.k != "auto" and not (isinstance(self.k, int) and 0 <= self.k <= self.MAX_K):
            raise ValueError(f'k must be "auto" or a whole number from 0 to {self.MAX_K}, not {self.k!r}')
        if self.kv_bits not in (None, 2, 3, 4, 6, 8):
            raise ValueError(f"kv-bits must be 2, 3, 4, 6 or 8, not {self.kv_bits}")
        if self.context is not None and self.context < 2:
            raise ValueError(f"context must be at least 2 tokens, not {self.context}")
        if self.exactness not in ("fast", "strict"):
            raise ValueError(f'exactness must be "fast" or "strict", not {self.exactness!r}')
        if self.prefill_chunk is not None and self.prefill_chunk < 1:
            raise ValueError(f"prefill chunk must be at least 1 token, not {self.prefill_chunk}")
