"""What a record says: a row for each way, the set of K that may be best, and the doubts."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.cautions import cautions
from bench.design import Way
from bench.record import Record
from bench.rows import Row, rows_of, verify_curve
from bench.sample import Sample
from bench.statistics import FEWEST, Bootstrap, Estimate, Timings


@dataclass(frozen=True)
class Half:
    """A K that was picked on one half of the prompts, and its speedup on the other."""

    picked: str
    speedup: Estimate


@dataclass(frozen=True)
class Pairing:
    """The speed of one of specchat's ways over that of another program's."""

    ours: str
    theirs: str
    ratio: Estimate


@dataclass(frozen=True)
class Findings:
    """All of it.

    Attributes:
        rows: of every way, in the order of the design.
        prompts, blocks: that count.
        best: ways that cannot be told apart from the fastest, all at once; fixed K only.
        recommended: the one of them with the smallest K.
        halves: empty where halves are too small.
        autos: for each `auto` way, what its speedup is not below, one-sided.
        pairs: specchat's ways over other programs': those of the same kind, and `auto` over all.
        groups: for each class of prompts, speedups by way.
        curve: M to V(M), from the rounds that were split.
        cautions: sentences.
    """

    rows: list[Row]
    prompts: int
    blocks: int
    best: list[Way]
    recommended: Way | None
    halves: list[Half]
    autos: dict[str, float]
    pairs: list[Pairing]
    groups: dict[str, dict[str, Estimate]]
    curve: dict[int, float]
    cautions: list[str]

    def row(self, name: str) -> Row:
        return next(row for row in self.rows if row.way.name == name)

    @property
    def baseline(self) -> Row:
        return self.rows[0]


def find(record: Record) -> Findings | None:
    """Draw the conclusions; None without a complete block."""
    blocks = complete_blocks(record)
    if not blocks:
        return None
    design = record.design
    ways = design.ways
    timings = timings_of(blocks, ways)
    bootstrap = Bootstrap(timings)
    fixed = [i for i, way in enumerate(ways) if isinstance(way.k, int)] if design.bench == "sweep" else []
    best = [ways[i] for i in bootstrap.best(fixed)]
    return Findings(
        rows=rows_of(record, blocks, bootstrap),
        prompts=bootstrap.prompts,
        blocks=len(blocks),
        best=best,
        recommended=min(best, key=_k) if best else None,
        halves=_halves(timings, ways, fixed, design.seed) if len(fixed) > 1 else [],
        autos={way.name: bootstrap.at_least(i, 0) for i, way in enumerate(ways) if way.k == "auto"},
        pairs=_pairs(bootstrap, ways),
        groups=_groups(timings, record),
        curve=verify_curve(record.splits),
        cautions=cautions(record, blocks),
    )


def complete_blocks(record: Record) -> list[list[Sample]]:
    """Blocks with all their runs, each with a time, runs by place."""
    wanted = len(record.design.ways) + 1
    blocks: dict[int, list[Sample]] = {}
    for sample in record.samples:
        blocks.setdefault(sample.block, []).append(sample)
    return [
        sorted(block, key=lambda sample: sample.place)
        for _, block in sorted(blocks.items())
        if len(block) == wanted and all(sample.tokens and sample.seconds > 0 for sample in block)
    ]


def timings_of(blocks: Sequence[Sequence[Sample]], ways: Sequence[Way]) -> Timings:
    """The blocks as columns of ways; the baseline's two runs in a block are added up."""
    place = {way.name: i for i, way in enumerate(ways)}
    tokens = np.zeros((len(blocks), len(ways)))
    seconds = np.zeros_like(tokens)
    for row, block in enumerate(blocks):
        for sample in block:
            tokens[row, place[sample.way]] += sample.tokens
            seconds[row, place[sample.way]] += sample.seconds
    return Timings([block[0].prompt for block in blocks], tokens, seconds)


def _k(way: Way) -> int:
    assert isinstance(way.k, int)
    return way.k


def _halves(timings: Timings, ways: Sequence[Way], fixed: Sequence[int], seed: int) -> list[Half]:
    """Pick the fastest K on each half of the prompts, and tell its speedup on the other.

    The fastest of several has been lucky as well as fast; on prompts that it was not picked for it has
    only its speed left.
    """
    prompts = sorted(set(timings.prompts))
    random.Random(seed).shuffle(prompts)
    halves = [set(prompts[::2]), set(prompts[1::2])]
    if min(map(len, halves)) < FEWEST:
        return []
    found = []
    for here, there in (halves, halves[::-1]):
        logs = Bootstrap(timings.of(here), draws=1).logs
        picked = max(fixed, key=lambda i: float(logs[i]))
        found.append(Half(ways[picked].name, Bootstrap(timings.of(there)).ratio(picked, 0)))
    return found


def _pairs(bootstrap: Bootstrap, ways: Sequence[Way]) -> list[Pairing]:
    return [
        Pairing(ours.name, theirs.name, bootstrap.ratio(i, j))
        for j, theirs in enumerate(ways)
        for i, ours in enumerate(ways)
        if theirs.engine != "specchat" == ours.engine
        and (ours.k == "auto" or (ours.source, ours.k) == (theirs.source, theirs.k))
    ]


def _groups(timings: Timings, record: Record) -> dict[str, dict[str, Estimate]]:
    ways = record.design.ways
    members: dict[str, set[str]] = {}
    for prompt, group, _ in record.design.prompts:
        members.setdefault(group, set()).add(prompt)
    found = {}
    for group, prompts in members.items():
        part = timings.of(prompts)
        if part.prompts:
            bootstrap = Bootstrap(part)
            found[group] = {way.name: bootstrap.ratio(i, 0) for i, way in enumerate(ways) if i}
    return found
