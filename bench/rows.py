"""One way of decoding in numbers: its speed, its acceptance, its waiting, its cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from bench.design import LOOP, Way
from bench.record import Record
from bench.sample import Sample, Split
from bench.statistics import Bootstrap, Estimate


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
        parts: of a typical round, apart from the timed runs; what follows is made of them.
        verify_cost, serial_index: V(K+1) and (V(K+1) - 1) / K.
        c: the time of drafting a token over T(1).
        verdict: what the engine said at the end of the last run, in words.
        predicted: the speedup that the parts and the rounds of the timed runs add up to.
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
    verify_cost: float | None
    serial_index: float | None
    c: float | None
    predicted: float | None
    verdict: str | None


def rows_of(record: Record, blocks: Sequence[Sequence[Sample]], bootstrap: Bootstrap) -> list[Row]:
    """A row for each way of the design, over complete blocks."""
    parts = typical_rounds(record.splits)
    names = [way.name for way in record.design.ways]
    loop = bootstrap.ratio(names.index(LOOP), 0).value if LOOP in names else None
    samples: dict[str, list[Sample]] = {name: [] for name in names}
    for block in blocks:
        for sample in block:
            samples[sample.way].append(sample)
    return [
        _row(way, samples[way.name], record, bootstrap, i, parts.get(way.name), parts.get(LOOP), loop)
        for i, way in enumerate(record.design.ways)
    ]


def _row(
    way: Way,
    samples: Sequence[Sample],
    record: Record,
    bootstrap: Bootstrap,
    i: int,
    parts: Split | None,
    one: Split | None,
    loop: float | None,
) -> Row:
    """The row of the i-th way.

    Args:
        parts: of its typical round.
        one: of the bare loop's, whose forwards have one row.
        loop: speed of the bare loop over the baseline's.
    """
    counts = [sample.counts for sample in samples]
    rounds, drafted, accepted = (
        sum(getattr(each, name) for each in counts) for name in ("rounds", "drafted", "accepted")
    )
    gaps = [gap for sample in samples for gap in sample.gaps]
    ttfts = [s.ttft_s for s in samples if s.ttft_s is not None and not s.counts.reused]
    extra = _peak(record, way.name) - _peak(record, record.design.baseline.name)
    drafts = parts if parts and one and parts.rows > 1 else None
    cost = drafts.verify_s / one.verify_s if drafts and one else None
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
        extra_bytes=max(extra, 0),
        parts=parts,
        verify_cost=cost,
        serial_index=(cost - 1) / (drafts.rows - 1) if drafts and cost else None,
        c=drafts.draft_s / (drafts.rows - 1) / one.verify_s if drafts and one else None,
        verdict=counts[-1].verdict if counts else None,
        predicted=_predicted(samples, drafts, one, loop) if drafts and one and loop else None,
    )


def _predicted(samples: Sequence[Sample], drafts: Split, one: Split, loop: float) -> float | None:
    """The speedup that these rounds would have if each took as long as a typical one.

    The parts were timed at another moment, maybe at another speed of the machine, so they count in
    rounds of the bare loop, whose own speed over the baseline's was timed.
    """
    plain = sum(sample.counts.k_histogram.get("0", 0) for sample in samples)
    rounds = sum(sample.counts.rounds for sample in samples)
    tokens = sum(sum(sample.emitted) for sample in samples)
    spent = plain + rounds * _seconds(drafts) / _seconds(one)
    return loop * tokens / spent if spent else None


def _seconds(split: Split) -> float:
    return split.draft_s + split.verify_s + split.rest_s


def _peak(record: Record, way: str) -> int:
    return max((sample.peak_bytes for sample in record.samples if sample.way == way), default=0)


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


def whole_rounds(rounds: Sequence[Split]) -> list[Split]:
    """Those of one way that drafted in full: the ones that its typical round is made of."""
    rows = max(each.rows for each in rounds)
    return [each for each in rounds if each.rows == rows]


def typical_rounds(splits: Sequence[Split]) -> dict[str, Split]:
    """Of each way the median of each part, over its rounds that drafted in full."""
    groups: dict[str, list[Split]] = {}
    for split in splits:
        groups.setdefault(split.way, []).append(split)
    return {name: _typical(rounds) for name, rounds in groups.items()}


def _typical(rounds: Sequence[Split]) -> Split:
    whole = whole_rounds(rounds)
    return Split(
        whole[0].way,
        whole[0].rows,
        *(median(getattr(each, part) for each in whole) for part in ("draft_s", "verify_s", "rest_s")),
    )


def verify_curve(splits: Sequence[Split]) -> dict[int, float]:
    """M to V(M), over all ways; empty without forwards of one row."""
    forwards: dict[int, list[float]] = {}
    for split in splits:
        forwards.setdefault(split.rows, []).append(split.verify_s)
    if 1 not in forwards:
        return {}
    one = median(forwards[1])
    return {rows: median(times) / one for rows, times in sorted(forwards.items())}
