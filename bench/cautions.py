"""What makes a sweep's numbers doubtful, each as one sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from bench.environment import warnings
from bench.record import Record
from bench.rows import whole_rounds
from bench.sample import Sample, Split
from bench.statistics import FEWEST
from bench.words import plural

DRIFT = 0.05  # of the baseline, from one end of a block to the other, that is worth a word
FIRST = 0.10  # by which a first run may be slower
FEW_TOKENS = 16  # timed tokens below which a run says little
OUTLIER = 6.0  # scaled median deviations from the way's median
FEW_ROUNDS = 5  # split into their parts, below which a median of them says little
LEAST_OUTLIER = 0.25  # relative: runs of a quiet machine differ by less than this and are no outliers


def cautions(record: Record, blocks: Sequence[Sequence[Sample]]) -> list[str]:
    """Sentences about everything that should make a reader doubt.

    Args:
        record: of the sweep.
        blocks: its complete blocks, runs in the order of their places.
    """
    samples = [sample for block in blocks for sample in block if sample.tokens]
    said = [] if not record.conditions else warnings(record.conditions[0], record.conditions[-1])
    if not all(pace.stable for pace in record.paces):
        said.append("The speed had not settled when warming up ended.")
    said += _drift(blocks) + _first(blocks) + _outliers(samples) + _short(record, blocks)
    if (prompts := len({block[0].prompt for block in blocks})) < FEWEST:
        said.append(
            f"{plural(prompts, 'prompt')} cannot bound a speedup: an interval needs at least {FEWEST}."
        )
    said += _without_drafts(record, samples) + _rough_parts(record.splits)
    if any(len({sample.session for sample in block}) > 1 for block in blocks):
        said.append("A block was interrupted and went on later, maybe on a machine in another state.")
    if left_out := len({sample.block for sample in record.samples}) - len(blocks):
        said.append(
            f"{left_out} {'block was' if left_out == 1 else 'blocks were'} left out: "
            "not finished, or with an answer too short to time."
        )
    return said


def _pace(sample: Sample) -> float:
    return sample.seconds / sample.tokens


def _drift(blocks: Sequence[Sequence[Sample]]) -> list[str]:
    """The baselines at the two ends of a block differ by what the machine did in between."""
    ends = [(block[0], block[-1]) for block in blocks if block[0].tokens and block[-1].tokens]
    changes = [math.log(_pace(last) / _pace(first)) for first, last in ends]
    if not changes:
        return []
    said = []
    trend = math.expm1(median(changes))
    if abs(trend) > DRIFT:
        how = "slower" if trend > 0 else "faster"
        said.append(
            f"The machine got {how} within blocks: the baseline at their ends took "
            f"{abs(trend):.0%} {'more' if trend > 0 else 'less'} time than at their starts."
        )
    unsteady = sum(abs(math.expm1(change)) > DRIFT for change in changes)
    if not said and unsteady > len(changes) / 2:
        size = math.expm1(median(map(abs, changes)))
        said.append(f"The machine was unsteady: the two baselines of a block differ by {size:.0%} as a rule.")
    return said


def _first(blocks: Sequence[Sequence[Sample]]) -> list[str]:
    firsts = [_pace(block[0]) for block in blocks if block[0].tokens]
    if len(firsts) < 3:
        return []
    excess = firsts[0] / median(firsts[1:]) - 1
    if excess <= FIRST:
        return []
    return [f"The very first run was {excess:.0%} slower than later ones: warming up was too short."]


def _without_drafts(record: Record, samples: Sequence[Sample]) -> list[str]:
    """A speedup of a way that never drafted is chance, or the loop's own cost."""
    ways = [
        way for way in record.design.ways if way.engine == "specchat" and isinstance(way.k, int) and way.k
    ]
    drafted = {sample.way for sample in samples if sample.counts.drafted}
    idle = [way.name for way in ways if way.name not in drafted]
    if not samples or not idle:
        return []
    return [f"Nothing was drafted at {', '.join(idle)}: any speedup there comes from something else."]


def _rough_parts(splits: Sequence[Split]) -> list[str]:
    """What draft, verification and overhead of a few rounds say is noise, up to a V(M) below 1."""
    groups: dict[str, list[Split]] = {}
    for split in splits:
        groups.setdefault(split.way, []).append(split)
    few = [name for name, rounds in groups.items() if len(whole_rounds(rounds)) < FEW_ROUNDS]
    if not few:
        return []
    return [
        f"Fewer than {FEW_ROUNDS} whole rounds of {', '.join(few)} were split: "
        "V(K+1), c and the time of their parts are rough."
    ]


def _outliers(samples: Sequence[Sample]) -> list[str]:
    found = 0
    for way in {sample.way for sample in samples}:
        logs = [math.log(_pace(sample)) for sample in samples if sample.way == way]
        middle = median(logs)
        spread = 1.4826 * median(abs(each - middle) for each in logs)
        limit = max(OUTLIER * spread, math.log1p(LEAST_OUTLIER))
        found += sum(abs(each - middle) > limit for each in logs)
    if not found:
        return []
    runs = "1 run stands" if found == 1 else f"{found} runs stand"
    return [f"{runs} far from the others of the same way; they count all the same."]


def _short(record: Record, blocks: Sequence[Sequence[Sample]]) -> list[str]:
    runs = [sample for block in blocks for sample in block]
    short = sum(sample.tokens < FEW_TOKENS for sample in runs)
    if short * 4 <= len(runs):
        return []
    return [f"{short} of {len(runs)} runs have fewer than {FEW_TOKENS} timed tokens: their speed is rough."]
