"""What a record says: a row for each way, the set of K that may be best, and the doubts."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from bench.cautions import cautions
from bench.design import LOOP, Way
from bench.record import Record
from bench.sample import Sample, Split
from bench.statistics import FEWEST, Bootstrap, Estimate, Timings


@dataclass(frozen=True)
class Row:
    """One way over all complete blocks. None is not measured, or of no meaning here.

    Attributes:
        way: which.
        runs, tokens: timed.
        tok_s: tokens a second after the first step.
        speedup: over the baseline; None for the baseline itself.
        ttft_s: median seconds to the first token, over runs that read their prompt.
        gap_p50, gap_p95: seconds between one step's tokens and the next one's.
        acceptance_rate, acceptance_length: accepted / drafted; 1 + accepted / rounds.
        by_position: (accepted, tested) at each position of a draft.
        same: prompts whose answer is the baseline's own, of those that must agree.
        draft_bytes: memory of the draft source, weights and cache, at most.
        extra_bytes: peak memory over the baseline's.
        parts: of a typical round, apart from the timed runs.
        serial_index, c: (V(K+1) - 1) / K and the time of drafting a token over T(1), from those parts.
    """

    way: Way
    runs: int
    tokens: int
    tok_s: float
    speedup: Estimate | None
    ttft_s: float | None
    gap_p50: float | None
    gap_p95: float | None
    acceptance_rate: float | None
    acceptance_length: float | None
    by_position: list[tuple[int, int]]
    same: tuple[int, int] | None
    draft_bytes: int
    extra_bytes: int
    parts: Split | None
    serial_index: float | None
    c: float | None


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
    curve, parts = _curve(record.splits)
    rows = [
        _row(way, i, [s for block in blocks for s in block if s.way == way.name], bootstrap, record, parts)
        for i, way in enumerate(ways)
    ]
    fixed = [i for i, way in enumerate(ways) if isinstance(way.k, int)] if design.bench == "sweep" else []
    best = [ways[i] for i in bootstrap.best(fixed)]
    return Findings(
        rows=rows,
        prompts=bootstrap.prompts,
        blocks=len(blocks),
        best=best,
        recommended=min(best, key=_k) if best else None,
        halves=_halves(timings, ways, fixed, design.seed) if len(fixed) > 1 else [],
        autos={way.name: bootstrap.at_least(i, 0) for i, way in enumerate(ways) if way.k == "auto"},
        pairs=_pairs(bootstrap, ways),
        groups=_groups(timings, record),
        curve=curve,
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


def _row(
    way: Way,
    i: int,
    samples: Sequence[Sample],
    bootstrap: Bootstrap,
    record: Record,
    parts: Mapping[str, Split],
) -> Row:
    counts = [sample.counts for sample in samples]
    rounds, drafted, accepted = (
        sum(getattr(each, name) for each in counts) for name in ("rounds", "drafted", "accepted")
    )
    gaps = [gap for sample in samples for gap in sample.gaps]
    ttfts = [s.ttft_s for s in samples if s.ttft_s is not None and not s.counts.reused]
    peaks = {name: _peak(record.samples, name) for name in (way.name, record.design.baseline.name)}
    typical = parts.get(way.name)
    one = parts.get(LOOP)
    serial = c = None
    if typical and one and typical.rows > 1:
        serial = (typical.verify_s / one.verify_s - 1) / (typical.rows - 1)
        c = typical.draft_s / (typical.rows - 1) / one.verify_s
    return Row(
        way=way,
        runs=len(samples),
        tokens=sum(sample.tokens for sample in samples),
        tok_s=bootstrap.speed(i),
        speedup=bootstrap.ratio(i, 0) if i else None,
        ttft_s=median(ttfts) if ttfts else None,
        gap_p50=float(np.quantile(gaps, 0.5)) if gaps else None,
        gap_p95=float(np.quantile(gaps, 0.95)) if gaps else None,
        acceptance_rate=accepted / drafted if drafted else None,
        acceptance_length=1 + accepted / rounds if rounds else None,
        by_position=_positions(samples),
        same=_same(record, way, samples) if i else None,
        draft_bytes=max((each.draft_bytes for each in counts), default=0),
        extra_bytes=max(peaks[way.name] - peaks[record.design.baseline.name], 0),
        parts=typical,
        serial_index=serial,
        c=c,
    )


def _peak(samples: Sequence[Sample], way: str) -> int:
    return max((sample.peak_bytes for sample in samples if sample.way == way), default=0)


def _positions(samples: Sequence[Sample]) -> list[tuple[int, int]]:
    """(accepted, tested) at each position, over all runs."""
    most = max((len(sample.counts.tested_at) for sample in samples), default=0)
    sums = np.zeros((most, 2), int)
    for sample in samples:
        n = len(sample.counts.tested_at)
        sums[:n, 0] += np.array(sample.counts.accepted_at, int)
        sums[:n, 1] += np.array(sample.counts.tested_at, int)
    return [(int(accepted), int(tested)) for accepted, tested in sums]


def _same(record: Record, way: Way, samples: Sequence[Sample]) -> tuple[int, int] | None:
    """How many prompts have the baseline's answer, of those whose sampling leaves no choice."""
    repeatable = {prompt for prompt, _, exact in record.design.prompts if exact}
    plain = {s.prompt: s.digest for s in record.samples if s.way == record.design.baseline.name}
    differ = {s.prompt for s in samples if s.digest != plain[s.prompt]}
    asked = {s.prompt for s in samples} & repeatable
    return (len(asked - differ), len(asked)) if asked else None


def _curve(splits: Sequence[Split]) -> tuple[dict[int, float], dict[str, Split]]:
    """V(M) over all ways, and each way's typical round."""
    groups: dict[str, list[Split]] = {}
    forwards: dict[int, list[float]] = {}
    for split in splits:
        groups.setdefault(split.way, []).append(split)
        forwards.setdefault(split.rows, []).append(split.verify_s)
    parts = {name: _typical(rounds) for name, rounds in groups.items()}
    if 1 not in forwards:
        return {}, parts
    one = median(forwards[1])
    return {rows: median(times) / one for rows, times in sorted(forwards.items())}, parts


def _typical(rounds: Sequence[Split]) -> Split:
    """The median of each part over the rounds with the way's most rows: those that drafted in full."""
    rows = max(each.rows for each in rounds)
    whole = [each for each in rounds if each.rows == rows]
    return Split(
        whole[0].way,
        rows,
        *(median(getattr(each, part) for each in whole) for part in ("draft_s", "verify_s", "rest_s")),
    )


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
