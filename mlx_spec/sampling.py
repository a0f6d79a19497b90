"""From logits to laws to tokens: warped distribution rows and the randomness that draws from them."""

from __future__ import annotations

import hashlib
import secrets
from typing import Any, Protocol

import mlx.core as mx
from mlx_lm.sample_utils import apply_min_p, apply_top_k, apply_top_p

from mlx_spec.options import Sampling

# Half the step of a 32-bit uniform: moves each to the middle of its cell, so that none is 0.
_HALF_STEP = 2.0**-33

# Float32 divides by numbers within these without reaching 0 or infinity.
_LEAST, _MOST = 1e-30, 1e30


class Dice(Protocol):
    """A source of randomness: seeded noise here, an enumeration of every outcome in the exact tests."""

    def flip(self, probabilities: Any) -> Any:
        """(K,) probabilities to (K,) booleans, each true with its own, independently."""

    def draw(self, rows: Any) -> Any:
        """(M, V) laws to (M,) token ids, one drawn from each row, independently."""


class Noise:
    """Seeded dice on the device. Every call uses a fresh key, so no draw is ever used twice.

    Keys come from a counter and not from MLX's global random state, which belongs to a thread.
    """

    def __init__(self, seed: int | None = None) -> None:
        self.seed = secrets.randbits(64) if seed is None else seed
        self._calls = 0

    def _key(self) -> mx.array:
        self._calls += 1
        digest = hashlib.blake2b(f"{self.seed}:{self._calls}".encode(), digest_size=8).digest()
        return mx.random.key(int.from_bytes(digest, "big"))

    def flip(self, probabilities: mx.array) -> mx.array:
        return mx.random.uniform(shape=probabilities.shape, key=self._key()) < probabilities

    def draw(self, rows: mx.array) -> mx.array:
        # An exponential race: the first to finish at rate p is drawn with probability p. Float32
        # uniforms are fine near 0 and coarse near 1, so the race is decided near 0; the usual Gumbel
        # maximum is decided near 1, and loses a flat tail of tokens below 1e-7 of the top.
        uniform = mx.random.uniform(shape=rows.shape, key=self._key())
        return mx.argmin(-mx.log1p(-(uniform + _HALF_STEP)) / rows, axis=-1)


def warp(logits: mx.array, sampling: Sampling) -> mx.array:
    """The law that `sampling` makes of each row of logits.

    The warpers are mlx-lm's own, in its order: top-p, min-p, top-k, then temperature.

    Args:
        logits: (M, V), any float dtype.
        sampling: with a temperature above 0.

    Returns:
        (M, V) float32 probabilities; each row sums to 1.
    """
    logits = logits.astype(mx.float32)
    rows = logits - mx.logsumexp(logits, axis=-1, keepdims=True)
    if 0 < sampling.top_p < 1:
        rows = apply_top_p(rows, max(sampling.top_p, _LEAST))
    if sampling.min_p > 0:
        rows = apply_min_p(rows, sampling.min_p)
    if 0 < sampling.top_k < rows.shape[-1]:
        rows = apply_top_k(rows, sampling.top_k)
    # Subtract the top first: a tiny temperature then scales 0 and not a large logit.
    rows = rows - rows.max(axis=-1, keepdims=True)
    return mx.softmax(rows / min(max(sampling.temperature, _LEAST), _MOST), axis=-1)


class Sampler:
    """One generation's sampling: how logits become laws, and how laws become tokens.

    Attributes:
        xp: the array namespace that the acceptance rules use.
        greedy: argmax, no randomness.
    """

    xp: Any = mx

    def __init__(self, sampling: Sampling) -> None:
        self.sampling = sampling
        self.greedy = sampling.greedy
        self.dice: Dice = Noise(sampling.seed)

    def laws(self, logits: mx.array) -> mx.array:
        """(M, V) logits to (M, V) float32 probabilities. Not for greedy sampling."""
        return warp(logits, self.sampling)

    def tokens(self, logits: mx.array) -> mx.array:
        """(M, V) logits to (M,) uint32 token ids: argmax of the raw logits, or a draw from each law."""
        if self.greedy:
            return mx.argmax(logits.astype(mx.float32), axis=-1)
        return self.dice.draw(self.laws(logits))
