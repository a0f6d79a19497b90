"""What a probe found, as plain numbers: ratios to T(1) of the same moment, with their intervals.

Machines drift, so seconds of different moments do not compare. Each block holds a T(1) of its own, and
every other time is divided by it before anything is averaged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from statistics import fmean, median
from typing import Any

import numpy as np

from mlx_spec.policy.table import CostTable

STEADY = 1.3  # the largest spread of ratios that mean anything, and of a plain step over one by one row
RESAMPLES = 1000
DEPTHS = (0, 1024, 4096, 8192, 16384, 32768)  # kernels change at some of these


def bucket(depth: int) -> int:
    """The depth, in tokens, from which on costs are taken to be those of `depth`."""
    return max(start for start in DEPTHS if start <= depth)


@dataclass
class Block:
    """Calls that followed each other closely, in seconds.

    Attributes:
        rows: T(M) by M; it has 1.
        plain: a step of the pipelined plain loop.
        round: everything that verifies one draft token, its forward over two rows included.
        drafts: proposing K tokens, by K.
    """

    rows: dict[int, float] = field(default_factory=dict)
    plain: float | None = None
    round: float | None = None
    drafts: dict[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Ratio:
    """A median of ratios to T(1) with its 95% bootstrap interval; without one if it was measured once."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Measured:
    """The costs of a backend at one depth.

    Attributes:
        depth: rows of the cache, in tokens.
        row_s: T(1) in seconds, at that time.
        verify: V(M) by M, those that were measured.
        plain: a pipelined plain step, in T(1).
        overhead: what a round costs besides drafting and its forward, in T(1).
        drafts: drafting K tokens, in T(1), by K; empty without a source.
        drift: how far T(1) or T(M) of the most rows moved from the first block to the last.
        spread: upper quartile over lower of the ratios of one M, the mean over M, or that of the plain steps
            where it is larger; 1 if nothing disturbed.
        blocks: how many blocks there were.
    """

    depth: int
    row_s: float
    verify: dict[int, Ratio]
    plain: float
    overhead: float
    drafts: dict[int, float]
    drift: float
    spread: float
    blocks: int

    @property
    def steady(self) -> bool:
        """Other programs did not spoil it: neither the rows nor the plain steps that all is compared with."""
        return max(self.spread, self.plain / (1 + self.overhead)) <= STEADY

    def costs(self, *, fresh: bool) -> CostTable:
        """The same in seconds of that time.

        Args:
            fresh: it was measured in this run, so that the seconds mean something.
        """
        return CostTable(
            depth=self.depth,
            plain=self.plain * self.row_s,
            verify={m: ratio.value * self.row_s for m, ratio in self.verify.items()},
            draft={k: cost * self.row_s for k, cost in self.drafts.items()},
            overhead=self.overhead * self.row_s,
            fresh=fresh,
        )

    def as_json(self) -> dict[str, Any]:
        """Plain data; `from_json` reads it."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Any) -> Measured:
        """Read `as_json`.

        Raises:
            KeyError, TypeError, ValueError: it is none, or damaged.
        """
        verify = {int(m): Ratio(**ratio) for m, ratio in data["verify"].items()}
        drafts = {int(k): float(cost) for k, cost in data["drafts"].items()}
        found = cls(**{**data, "verify": verify, "drafts": drafts})
        times = [found.row_s, found.plain, *(ratio.value for ratio in verify.values())]
        if 1 not in verify or not all(np.isfinite(times)) or min(times) <= 0:
            raise ValueError("a time must be positive")
        return found


def summarize(blocks: Sequence[Block], depth: int, check: Block) -> Measured:
    """What `blocks`, at least one, measured at `depth`.

    Args:
        blocks: what counts.
        depth: rows of the cache, in tokens.
        check: other calls, from before, that only tell whether the machine was steady.
    """
    most = sorted({m for block in blocks for m in block.rows})
    plain = _ratios(blocks, [block.plain for block in blocks])
    rounds = [
        (block.round - block.rows[2]) / block.rows[1]
        for block in blocks
        if block.round is not None and 2 in block.rows
    ]
    ks = sorted({k for block in blocks for k in block.drafts})
    return Measured(
        depth=depth,
        row_s=median(block.rows[1] for block in blocks),
        verify={m: _interval(_ratios(blocks, [block.rows.get(m) for block in blocks])) for m in most},
        plain=median(plain) if plain else 1.0,
        overhead=max(median(rounds), 0.0) if rounds else 0.0,
        drafts={k: median(_ratios(blocks, [block.drafts.get(k) for block in blocks])) for k in ks},
        spread=max(fmean(_spread([check, *blocks], m) for m in most), _quartiles(plain or [1.0])),
        drift=max(_change(blocks, m) for m in (1, most[-1])),
        blocks=len(blocks),
    )


def _ratios(blocks: Sequence[Block], times: Sequence[float | None]) -> list[float]:
    """`times`, one a block, in T(1) of their blocks; None was not measured there."""
    pairs = zip(blocks, times, strict=True)
    return [time / block.rows[1] for block, time in pairs if time is not None]


def _interval(ratios: Sequence[float]) -> Ratio:
    if len(ratios) == 1:
        return Ratio(ratios[0], None, None)
    drawn = np.random.default_rng(0).choice(ratios, size=(RESAMPLES, len(ratios)))
    low, high = np.quantile(np.median(drawn, axis=1), [0.025, 0.975])
    return Ratio(median(ratios), float(low), float(high))


def _spread(blocks: Sequence[Block], rows: int) -> float:
    return _quartiles(_ratios(blocks, [block.rows.get(rows) for block in blocks]))


def _quartiles(ratios: Sequence[float]) -> float:
    low, high = np.quantile(ratios, [0.25, 0.75])
    return float(high / low)


def _change(blocks: Sequence[Block], rows: int) -> float:
    times = [block.rows[rows] for block in blocks if rows in block.rows]
    return abs(times[-1] / times[0] - 1)
