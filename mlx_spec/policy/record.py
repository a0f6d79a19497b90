"""What is known of one source on one target: costs, hazards, live speedup."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from mlx_spec.policy.catchup import CatchUp
from mlx_spec.policy.costs import Costs
from mlx_spec.policy.hazards import Hazards, emitted
from mlx_spec.policy.speedup import Interval, Speedup
from mlx_spec.policy.step import Step
from mlx_spec.policy.table import CostTable


class Record:
    """Takes every step and keeps what a controller decides on and a verdict is made of.

    Attributes:
        most: the largest K.
        costs: seconds of rounds, in plain steps.
        hazards: acceptance by position.
        catch_up: the price of what the source has to read first.
        paired: whether plain steps of this run tell the plain time.
    """

    def __init__(self, tables: Sequence[CostTable], most: int) -> None:
        """Args:
        tables: of a probe, one a depth; may be empty.
        most: the largest K.
        """
        self.most = most
        self.costs = Costs(tables, most)
        self.hazards = Hazards(most)
        self.catch_up = CatchUp()
        self._speedup = Speedup()
        self.paired = any(table.fresh for table in tables)
        self.depth = 0
        self._k = most  # of the latest round
        self._unscaled: deque[tuple[int, float]] = deque(maxlen=512)  # rounds before any plain step

    def learn(self, table: CostTable) -> None:
        """Take what a probe measured meanwhile."""
        self.costs.learn(table)
        if table.fresh:
            self._pair()

    def _pair(self) -> None:
        """Compare rounds with plain steps of this run, now that there are some."""
        self.paired = True
        while self._unscaled and self.costs.scale is not None:
            emitted, seconds = self._unscaled.popleft()
            self._speedup.observe(emitted, seconds / self.costs.scale)

    def begin(self, depth: int) -> None:
        """Take note of a new answer after `depth` committed tokens."""
        self.depth = depth
        self.costs.begin(depth)

    def observe(self, step: Step) -> None:
        """Take note of a step."""
        self.depth = step.depth
        self.costs.observe(step)
        self.catch_up.behind = step.behind
        if self.costs.scale is not None:
            self.catch_up.caught_up(step.read, step.reading_s / self.costs.scale)
        if not step.asked:
            if self.costs.settled:
                self._pair()
            return
        self.hazards.observe(step.drafted, step.emitted - 1 if step.drafted else 0)
        self._k = step.drafted or self._k
        if self.paired and self.costs.scale is not None:
            self._speedup.observe(step.emitted, step.seconds / self.costs.scale)
        else:  # a scale that only ratios told would make a prediction of it
            self._unscaled.append((step.emitted, step.seconds))

    @property
    def speedup(self) -> Interval | None:
        """Plain time a token over ours, measured where the source was asked; None until known."""
        return self._speedup.interval(max(self.costs.variance(self._k), Costs.LEAST)) if self.paired else None

    def predicted(self, k: int) -> float:
        """Speedup of asking for K tokens, from costs and hazards."""
        return self.predictions(self.hazards.rates)[k]

    def predictions(
        self, rates: list[float], ratios: list[float] | None = None, proposing: float | None = None
    ) -> list[float]:
        """Speedup by K = 0..most if the hazards were `rates`; 1 at K=0, which is plain decoding.

        A step in which the source has nothing gives one token for a little more than a plain step.

        Args:
            rates: hazards.
            ratios: of rounds over plain steps; the known ones by default.
            proposing: how likely the source has something; as is to be expected next by default.
        """
        proposing = self.hazards.next_proposal if proposing is None else proposing
        ratios = ratios or self.costs.ratios
        missed, empty = (1 - proposing) * ratios[0], 1 - proposing
        values = [
            (proposing * tokens + empty) / (proposing * ratio + missed)
            for tokens, ratio in zip(emitted(rates), ratios, strict=True)
        ]
        values[0] = 1.0
        return values

    def as_dict(self) -> dict[str, Any]:
        """For JSON: what outlives the session."""
        return {
            "costs": self.costs.as_dict(),
            "hazards": self.hazards.as_dict(),
            "reading": self.catch_up.price,
        }

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any], most: int) -> Record:
        """From `as_dict`."""
        record = cls((), most)
        record.costs = Costs.from_dict(kept["costs"], most)
        record.hazards = Hazards.from_dict(kept["hazards"], most)
        record.catch_up.price = kept.get("reading")
        return record
