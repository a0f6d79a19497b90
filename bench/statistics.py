"""How much faster one way of decoding is than another, and how sure that is.

The unit is the prompt: answers to one prompt resemble each other, so the bootstrap draws prompts
first and then, within each, its blocks. Each draw is studentized by its own standard error (Efron and
Tibshirani, An Introduction to the Bootstrap, section 12.5): with a handful of prompts and heavy tails
a percentile interval is too short. Speeds are ratios of totals, tokens over seconds, never means of
ratios, and they are compared on the log scale.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

CONFIDENCE = 0.95
UNKNOWN = "-"  # in the place of a number
DRAWS = 2000
FEWEST = 4  # prompts that an interval needs: of fewer, too many draws hold one prompt alone
# A draw of hardly more than one prompt has hardly any error of its own, and would make an interval that
# bounds nothing. Simulated with 4 to 12 prompts, this halves the widest at a point of coverage at most.
FLOOR = 0.3
_CHUNK = 250  # draws at a time: bounds the memory


@dataclass(frozen=True)
class Estimate:
    """A value with the interval that holds it with the confidence asked for.

    An interval that the data do not bound ends at 0 or at infinity.
    """

    value: float
    low: float
    high: float

    @property
    def bounded(self) -> bool:
        return self.low > 0 and math.isfinite(self.high)

    def as_json(self) -> dict[str, float | None]:
        """For JSON, which has no infinity: null is without bound."""
        low, high = (self.low, self.high) if self.bounded else (None, None)
        return {"value": self.value, "low": low, "high": high}


def ratio(estimate: Estimate | None) -> str:
    """A ratio in words, with its interval where the data bound one."""
    if estimate is None:
        return UNKNOWN
    if not estimate.bounded:
        return f"{estimate.value:.2f}"
    return f"{estimate.value:.2f} ({estimate.low:.2f} to {estimate.high:.2f})"


@dataclass(frozen=True)
class Timings:
    """Complete blocks: every way's tokens and seconds in each.

    Attributes:
        prompts: (blocks,) which prompt each block belongs to.
        tokens: (blocks, ways) timed tokens.
        seconds: (blocks, ways) that they took.
    """

    prompts: Sequence[str]
    tokens: Any
    seconds: Any

    def of(self, keep: set[str]) -> Timings:
        """The blocks of these prompts."""
        rows = [i for i, prompt in enumerate(self.prompts) if prompt in keep]
        return Timings([self.prompts[i] for i in rows], self.tokens[rows], self.seconds[rows])


class Bootstrap:
    """Log speeds of ways on the same blocks, with draws of them for every comparison.

    Attributes:
        prompts: how many there are; fewer than `FEWEST` bound nothing.
        logs: (ways,) log of tokens a second.
        covariance: (ways, ways) of `logs`, linearized, over prompts.
        drawn_logs, drawn_covariances: (draws, ways) and (draws, ways, ways), the same of each draw.
    """

    def __init__(self, timings: Timings, draws: int = DRAWS, seed: int = 0) -> None:
        """Raises:
        ValueError: there is no block.
        """
        if not len(timings.prompts):
            raise ValueError("there is no block to learn from")
        names = sorted(set(timings.prompts))
        blocks = [[i for i, name in enumerate(timings.prompts) if name == each] for each in names]
        self.prompts = len(names)
        tokens, seconds = np.asarray(timings.tokens, float), np.asarray(timings.seconds, float)
        everything = [np.array([column[rows].sum(axis=0) for rows in blocks]) for column in (tokens, seconds)]
        self.logs, self.covariance = _log_speeds(*everything)
        random = np.random.default_rng(seed)
        parts = [
            _log_speeds(*_draw(blocks, tokens, seconds, min(_CHUNK, draws - done), random))
            for done in range(0, draws, _CHUNK)
        ]
        self.drawn_logs = np.concatenate([logs for logs, _ in parts])
        self.drawn_covariances = np.concatenate([covariance for _, covariance in parts])

    def speed(self, way: int) -> float:
        """Tokens a second."""
        return math.exp(self.logs[way])

    def ratio(self, way: int, baseline: int, confidence: float = CONFIDENCE) -> Estimate:
        """Speed of one way over another's, with its interval."""
        value, error = self._difference(way, baseline)
        if self.prompts < FEWEST:
            return Estimate(math.exp(value), 0.0, math.inf)
        return _interval(value, error, self._studentized(way, baseline), confidence)

    def at_least(self, way: int, baseline: int, confidence: float = CONFIDENCE) -> float:
        """What the ratio is not below, one-sided: 0 where the data do not bound it."""
        return self.ratio(way, baseline, 2 * confidence - 1).low

    def best(self, candidates: Sequence[int], confidence: float = CONFIDENCE) -> list[int]:
        """The candidates that cannot be told apart from the fastest, all at once.

        A candidate leaves when the fastest of the others leads it by more than the largest of all
        studentized leads over it would reach by chance, were it the fastest itself (Hsu's multiple
        comparisons with the best, with bootstrapped quantiles). So the set holds the fastest one with
        at least this confidence.
        """
        if self.prompts < FEWEST:
            return list(candidates)
        kept = []
        for each in candidates:
            others = [other for other in candidates if other != each]
            leads = [_over(*self._difference(other, each)) for other in others]
            chance = [self._studentized(other, each) for other in others]
            if not others or max(leads) <= _quantile(np.max(chance, axis=0), confidence):
                kept.append(each)
        return kept

    def over(
        self, other: Bootstrap, ours: tuple[int, int], theirs: tuple[int, int], confidence: float = CONFIDENCE
    ) -> Estimate:
        """A ratio of two ways here over a ratio of two ways in `other`, which was measured apart."""
        here, here_error = self._difference(*ours)
        there, there_error = other._difference(*theirs)
        if min(self.prompts, other.prompts) < FEWEST:
            return Estimate(math.exp(here - there), 0.0, math.inf)
        moved = (self._moves(*ours) - here) - (other._moves(*theirs) - there)
        error = np.hypot(self._errors(*ours), other._errors(*theirs))
        return _interval(here - there, math.hypot(here_error, there_error), _over(moved, error), confidence)

    def _difference(self, i: int, j: int) -> tuple[float, float]:
        variance = self.covariance[i, i] + self.covariance[j, j] - 2 * self.covariance[i, j]
        return float(self.logs[i] - self.logs[j]), math.sqrt(max(variance, 0.0))

    def _moves(self, i: int, j: int) -> Any:
        return self.drawn_logs[:, i] - self.drawn_logs[:, j]

    def _errors(self, i: int, j: int) -> Any:
        drawn = self.drawn_covariances
        return np.sqrt(np.maximum(drawn[:, i, i] + drawn[:, j, j] - 2 * drawn[:, i, j], 0))

    def _studentized(self, i: int, j: int) -> Any:
        value, error = self._difference(i, j)
        return _over(self._moves(i, j) - value, np.maximum(self._errors(i, j), FLOOR * error))


def _draw(
    blocks: Sequence[Sequence[int]], tokens: Any, seconds: Any, draws: int, random: np.random.Generator
) -> tuple[Any, Any]:
    """(draws, prompts, ways) totals of prompts drawn with replacement, their blocks drawn anew too."""
    sizes = np.array([len(rows) for rows in blocks])
    most = sizes.max()
    table = np.array([[*rows, *[0] * (most - len(rows))] for rows in blocks])
    chosen = random.integers(len(blocks), size=(draws, len(blocks)))
    places = np.arange(most)
    within = np.floor(random.random((*chosen.shape, most)) * sizes[chosen][..., None]).astype(int)
    rows = table[chosen[..., None], within]
    counts = (places < sizes[chosen][..., None])[..., None]
    return (tokens[rows] * counts).sum(axis=2), (seconds[rows] * counts).sum(axis=2)


def _log_speeds(tokens: Any, seconds: Any) -> tuple[Any, Any]:
    """Log of total tokens over total seconds, and its linearized covariance over prompts.

    Args:
        tokens, seconds: (..., prompts, ways).
    """
    all_tokens, all_seconds = tokens.sum(axis=-2), seconds.sum(axis=-2)
    pull = tokens / all_tokens[..., None, :] - seconds / all_seconds[..., None, :]
    n = tokens.shape[-2]
    return np.log(all_tokens / all_seconds), np.swapaxes(pull, -1, -2) @ pull * (n / max(n - 1, 1))


def _over(difference: Any, error: Any) -> Any:
    """Differences in standard errors. Without any spread a difference is certain, and none is none."""
    difference, error = np.asarray(difference, float), np.asarray(error, float)
    beyond = np.select([difference > 1e-12, difference < -1e-12], [np.inf, -np.inf], 0.0)
    return np.divide(difference, error, out=beyond, where=error > 1e-12)


def _quantile(drawn: Any, q: float) -> float:
    # Interpolating between infinities would give NaN, so a quantile is one of the drawn values.
    return float(np.quantile(drawn, q, method="higher" if q > 0.5 else "lower"))


def _interval(value: float, error: float, studentized: Any, confidence: float) -> Estimate:
    if error <= 1e-12 and np.isfinite(studentized).all():
        return Estimate(math.exp(value), math.exp(value), math.exp(value))
    low, high = (_quantile(studentized, q) for q in ((1 + confidence) / 2, (1 - confidence) / 2))
    return Estimate(math.exp(value), math.exp(value - low * error), _exp(value - high * error))


def _exp(x: float) -> float:
    return math.exp(x) if x < 700 else math.inf
