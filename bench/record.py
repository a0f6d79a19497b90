"""All that a sweep has found: what its journal holds, and what every report is made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from bench.design import Design
from bench.sample import Sample, Split


@dataclass(frozen=True)
class Pace:
    """What warming up showed.

    Attributes:
        stable: the last two plain runs had about the same speed.
        reading: seconds until the first token of the warm-up prompt, and its length in tokens.
        token: seconds a plain token.
    """

    stable: bool
    reading: tuple[float, int]
    token: float


@dataclass
class Record:
    """All that a sweep has found so far; reports are made of it alone.

    Attributes:
        design: what was planned.
        environment: where the first sitting took place.
        conditions: before and after each sitting.
        paces: of each sitting's warm-up.
        samples, splits: as they came.
    """

    design: Design
    environment: dict[str, Any] = field(default_factory=dict)
    conditions: list[dict[str, Any]] = field(default_factory=list)
    paces: list[Pace] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    splits: list[Split] = field(default_factory=list)

    def take(self, entry: dict[str, Any]) -> None:
        """Add an entry of the journal.

        Raises:
            KeyError, TypeError, AttributeError: it is none, or none of this design.
        """
        match entry["kind"]:
            case "begin":
                self.environment = self.environment or dict(entry["environment"].items())
                self.conditions.append(_conditions(entry))
            case "pace":
                self.paces.append(Pace(entry["stable"], tuple(entry["reading"]), entry["token"]))
            case "sample":
                sample = Sample.from_json(entry)
                if sample.way not in {way.name for way in self.design.ways}:
                    raise KeyError(sample.way)
                if sample.prompt not in {prompt for prompt, *_ in self.design.prompts}:
                    raise KeyError(sample.prompt)
                if (sample.block, sample.place) in self.done:
                    raise KeyError("a run that is there already")
                self.samples.append(sample)
            case "split":
                self.splits.append(Split(**{name: value for name, value in entry.items() if name != "kind"}))
            case "end":
                self.conditions.append(_conditions(entry))

    @property
    def done(self) -> set[tuple[int, int]]:
        """(block, place) of each run that is there."""
        return {(sample.block, sample.place) for sample in self.samples}

    @property
    def session(self) -> int:
        """How many sittings there were before this one."""
        return 1 + max((sample.session for sample in self.samples), default=-1)


def _conditions(entry: dict[str, Any]) -> dict[str, Any]:
    """Raises KeyError or TypeError where they are no conditions."""
    found = entry["conditions"]
    return {name: found[name] for name in ("load", "battery", "low_power", "speed_limit")}
