"""What a round costs in plain steps: a table of ratios over a scale that follows the machine.

A machine's speed drifts, by up to four times between minutes, and hits plain steps and rounds alike.
So the table keeps ratios, and one number, the scale, turns them into seconds. The scale follows every
step; a ratio is only corrected by rounds close to steps of another K, since a run of equal rounds
cannot tell a slower machine from a dearer round.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from mlx_spec.policy.step import Step
from mlx_spec.policy.table import CostTable


class Costs:
    """What rounds of one source cost against plain steps, learned while running.

    A filter over log time = scale + ratio(K) + noise, with a variance for each; the ratio of a plain
    step is 0 by definition. An outlier tells nothing. Three alike in a row are a change of the machine,
    unless plain steps, which come soon, deny it: then the next three are a change of K's ratio.

    Attributes:
        tables: of a probe, by depth; `table` is the one nearest to the present depth, or None.
        ratios: seconds of a round over those of a plain step, by K; at 0, of a step in which the source
            was asked and had nothing.
        scale: seconds a plain step would take now, followed through rounds too; None until known.
        anchor: the same by the latest plain steps alone.
    """

    WARM_UP = 2  # first plain steps after a round, not typical
    UNKNOWN_SLOPE = 0.25  # guess for a row, in plain steps, where nothing was measured
    UNKNOWN, GUESSED, MEASURED = 0.25, 0.02, 0.003  # variances of log ratios before rounds are seen
    DRIFT = 1e-4  # variance a step of the log scale
    LOOSENING = 4e-4  # variance a round of what plain steps said of the scale
    AGING = 1e-6  # variance a round of a log ratio
    RELAX = 0.01  # how fast corrections of one table approach the latest one, a round
    STALE = 0.998  # trust that corrections lose with each token without a round
    JUMP = 1.0  # variance of the log scale after a change of the machine
    KEEN = 0.9  # how fast a run of one K stops telling of its ratio, a round
    LEAST_NOISE, MOST_NOISE = 4e-4, 0.06  # variance of a step's log time
    SURPRISES = 3
    CALM = 4  # plain steps in a row that tell the scale
    LEAST = 0.001  # variance of a log ratio that plain steps are compared with: drift is no noise
    CHANGE = 0.15  # of the log scale, between plain steps, that is a change of the machine

    def __init__(self, tables: Sequence[CostTable], most: int) -> None:
        """Args:
        tables: of a probe, one a depth; may be empty.
        most: the largest K.
        """
        self.tables = sorted(tables, key=lambda table: table.depth)
        self._most = most
        self.table: CostTable | None = None
        self._corrections: dict[int, float] = {}
        self._variances: dict[int, float] = {}
        self._log_scale: float | None = None
        self._scale_variance = 0.01
        self.scale: float | None = None
        self.anchor: float | None = None
        self._noise = 0.0025
        self._loose = 0.0
        self._surprises: dict[int | None, int] = {}  # in a row and of one sign, by K
        self._suspects: dict[int, int] = {}  # those for which the machine was blamed
        self._denied: dict[int, int] = {}  # those of which plain steps say that it was not the machine
        self._left: tuple[int, float] | None = None  # K and log scale of the latest rounds
        self._calm = 0  # plain steps in a row that told the scale
        self._settled_at = 0.0
        self._k: int | None = None
        self._run = 0
        self.ratios: list[float] = []
        self._move_to(0)
        self._start_from_table()

    def _start_from_table(self) -> None:
        if self.table is not None and self.table.fresh:
            self._set_scale(math.log(self.table.plain))
            self._scale_variance = 0.0025
            self.anchor = self.table.plain

    def learn(self, table: CostTable) -> None:
        """Take a table of a probe, in place of one of the same depth. What rounds told stands."""
        tried = {k: self.ratios[k] for k in self._corrections}
        self.tables = sorted(
            [*(other for other in self.tables if other.depth != table.depth), table],
            key=lambda other: other.depth,
        )
        self._corrections, self.ratios = {}, []
        self._move_to(table.depth)
        self._corrections = {k: math.log(ratio / self._bases[k]) for k, ratio in tried.items()}
        self._refresh()
        self._start_from_table()

    def begin(self, depth: int) -> None:
        """Take note of a new answer after `depth` tokens: time has passed, its first steps are untypical."""
        self._k, self._run = None, 0
        self._loose = max(self._loose, 0.05)
        self._move_to(depth)

    def _move_to(self, depth: int) -> None:
        near = min(self.tables, key=lambda table: abs(table.depth - depth), default=None)
        if near is not self.table or not self.ratios:
            self.table = near
            self._bases = [
                near.round(k) / near.plain if near else 1 + self.UNKNOWN_SLOPE * k
                for k in range(self._most + 1)
            ]
            self._variances = {k: v + self.MEASURED for k, v in self._variances.items()}
            self._refresh()

    def _refresh(self) -> None:
        """Ratios of all K; one that was not tried is corrected as its tried neighbours are."""
        self._filled = [self._corrections.get(0, 0.0)]
        below, correction = 0, 0.0
        for k in sorted(k for k in self._corrections if k):
            step = (self._corrections[k] - correction) / (k - below)
            self._filled += [correction + step * n for n in range(1, k - below + 1)]
            below, correction = k, self._corrections[k]
        self._filled += [correction] * (self._most - below)
        pairs = zip(self._bases, self._filled, strict=True)
        self.ratios = [base * math.exp(correction) for base, correction in pairs]

    def hopeful(self, idle: int) -> list[float]:
        """Ratios if rounds corrected them wrongly, the more so the longer no round was seen.

        Args:
            idle: tokens since the last round.
        """
        trust = self.STALE**idle
        pairs = zip(self._bases, self._filled, strict=True)
        return [base * math.exp(min(correction, trust * correction)) for base, correction in pairs]

    def variance(self, k: int) -> float:
        """Of the log ratio of K."""
        if k in self._variances:
            return self._variances[k]
        if self.table is None:
            tried = [abs(n - k) for n in self._corrections if n > 0]
            return min(self.UNKNOWN, self.GUESSED * min(tried)) if tried else self.UNKNOWN
        return self.MEASURED if k + 1 in self.table.verify else self.GUESSED

    def known(self, k: int) -> bool:
        """Whether the ratio of K was measured, by a table or by rounds, and not interpolated."""
        return k in self._corrections or (self.table is not None and k + 1 in self.table.verify)

    def told(self, k: int) -> bool:
        """Whether the ratio of K rests on measurements of K or of its neighbours, and is no mere guess."""
        return self.table is not None or k in self._corrections

    @property
    def settled(self) -> bool:
        """Whether the latest steps are plain ones that tell the scale."""
        return self._calm >= self.CALM

    @property
    def doubtful(self) -> bool:
        """Whether the latest plain step did not fit the scale."""
        return None in self._surprises

    def observe(self, step: Step) -> None:
        """Take note of a step's time."""
        if self.tables and self._run % 64 == 63:
            self._move_to(step.depth)
        if step.seconds <= 0:  # a clock too coarse for this step
            return
        k = step.drafted if step.asked else None
        self._run = self._run + 1 if k == self._k else 1
        before, self._k = self._k, k
        if k is None:
            self._observe_plain(math.log(step.seconds), before)
        else:
            self._observe_round(k, math.log(step.seconds))

    def _set_scale(self, value: float) -> None:
        self._log_scale = value
        self.scale = math.exp(value)

    def _surprise(self, k: int | None, error: float, variance: float) -> tuple[float, bool]:
        """The error, or nothing of it beyond three deviations, and whether K has surprised too often."""
        if abs(error) <= 3 * math.sqrt(variance):
            self._surprises.pop(k, None)
            return error, False
        sign = 1 if error > 0 else -1
        count = self._surprises.get(k, 0)
        self._surprises[k] = count = count + sign if count * sign > 0 else sign
        return 0.0, abs(count) >= self.SURPRISES

    def _observe_plain(self, log_time: float, before: int | None) -> None:
        if self._run == 1 and before is not None and self._log_scale is not None:
            self._left = before, self._log_scale
        if self._run <= self.WARM_UP:
            return
        self._calm += 1
        if self._log_scale is None:
            self._set_scale(log_time)
            self._scale_variance = self._noise
            self._calm = 1
        else:
            variance = self._scale_variance + self._loose
            error, changed = self._surprise(None, log_time - self._log_scale, variance + self._noise)
            gain = variance / (variance + self._noise)
            self._set_scale(self._log_scale + gain * error)
            self._scale_variance = variance * (1 - gain) + self.DRIFT
            if None in self._surprises or changed:
                self._calm = 0
                self._noise = min(1.15 * self._noise, self.MOST_NOISE)
            elif variance < self._noise:  # else the error tells of the scale more than of the noise
                noise = self._noise + 0.03 * (error * error - variance - self._noise)
                self._noise = max(noise, self.LEAST_NOISE)
            if changed:
                self._scale_variance = self.JUMP
                del self._surprises[None]
        self._loose = 0.0
        if self._calm == self.CALM:
            self._settle()
        self.anchor = self.scale

    def _settle(self) -> None:
        """Plain steps have told the scale. If it is what it was, a change that rounds told was none."""
        assert self._log_scale is not None
        if abs(self._log_scale - self._settled_at) < self.CHANGE:
            self._denied |= self._suspects
        self._denied |= {k: n for k, n in self._surprises.items() if k is not None}
        self._suspects = {}
        if self._left is not None:  # rounds before plain steps tell as much as those after, and drift cancels
            k, before = self._left
            error, own = before - self._log_scale, max(self.variance(k), self.LEAST)
            if abs(error) < self.CHANGE:
                self._corrections[k] = self._filled[k] + own / (own + self._noise / 4) * error
                self._refresh()
            self._left = None
        self._settled_at = self._log_scale

    def _observe_round(self, k: int, log_time: float) -> None:
        self._calm = 0
        log_ratio = math.log(self.ratios[k])
        if self._log_scale is None:
            if self.table is None:  # nothing to compare with
                return
            self._set_scale(log_time - log_ratio)
            self.anchor = self.scale
            self._scale_variance = 0.02
        assert self._log_scale is not None
        keen = self.KEEN ** (self._run - 1)
        own = self.variance(k)
        counted = own * keen
        total = self._scale_variance + counted + self._noise
        error, changed = self._surprise(k, log_time - self._log_scale - log_ratio, total)
        self._set_scale(self._log_scale + self._scale_variance / total * error)
        self._scale_variance += self.DRIFT - self._scale_variance**2 / total
        self._corrections[k] = self._filled[k] + counted / total * error
        self._variances[k] = own - counted * counted / total + self.AGING
        self._loose = min(self._loose + self.LOOSENING, 0.5)
        if changed:
            self._blame(k, keen > 0.5)
        if self.table is not None:  # a bad moment must not tell against a K for good
            for other in self._corrections:
                self._corrections[other] += self.RELAX * (self._corrections[k] - self._corrections[other])
        self._refresh()

    def _blame(self, k: int, keen: bool) -> None:
        """Rounds of K have surprised in a row: the machine has changed, unless plain steps denied it."""
        count = self._surprises.pop(k)
        if keen and self._denied.pop(k, 0) * count > 0:
            self._variances[k] += self.UNKNOWN
        else:
            self._scale_variance = self.JUMP
            self._suspects[k] = count

    def verify_cost(self) -> dict[int, float]:
        """V(M) by M, as far as measured. Rounds refine a table where they are nothing but verification."""
        if self.table is None:
            return {}
        costs = {m: self.table.ratio(m) for m in sorted(self.table.verify) if m <= self._most + 1}
        if not self.table.draft:
            costs = {m: v * math.exp(self._filled[m - 1]) if m > 1 else v for m, v in costs.items()}
        return costs

    def as_dict(self) -> dict[str, Any]:
        """What was learned, for JSON; the scale is left out, since it will have moved on."""
        return {
            "tables": [table.as_dict() for table in self.tables],
            "corrections": {str(k): v for k, v in self._corrections.items()},
            "variances": {str(k): v for k, v in self._variances.items()},
        }

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any], most: int) -> Costs:
        """From `as_dict`."""
        costs = cls([CostTable.from_dict(table) for table in kept["tables"]], most)
        costs._corrections = {int(k): v for k, v in kept["corrections"].items() if int(k) <= most}
        costs._variances = {int(k): v for k, v in kept["variances"].items() if int(k) <= most}
        costs._refresh()
        return costs
