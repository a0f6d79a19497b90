"""How fast a pair of models would be on a chip, before anything is downloaded. Arithmetic alone.

One forward pass over one row takes T = bytes / (bandwidth x efficiency) + overhead: decoding is bound by
reading the weights. A round of K drafts takes V(K+1) + K c + r plain tokens and brings 1 + S_1 + ... + S_K
of them, where c = T_draft / T_target, r is a round's own overhead and S_k is the product of the first k
hazards. Every constant is a range, and the ranges are wide: only a measurement is narrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from mlx_spec.policy.hazards import emitted
from models.curves import Chip, Expectation
from models.range import Range
from models.size import Size

# Share of the bandwidth that decoding reaches, and seconds a forward pass costs besides reading:
# `decode_reports` of curves.json lie inside.
EFFICIENCY = Range(0.70, 0.85, 0.95)
EFFICIENCY_ULTRA = Range(0.60, 0.67, 0.75)
PASS_OVERHEAD = Range(0.5e-3, 1.5e-3, 3e-3)
ROUND_OVERHEAD = Range(0.25e-3, 0.5e-3, 1e-3)  # seconds; one wait for the device costs 0.25 ms
UNSTATED_ACCEPTANCE = Range(0.5, 0.7, 0.9)  # hazard of a draft model of the target's own family
# Of lookup: new prose accepts nothing of what it proposes, a copy nearly all. The middle gives the
# acceptance length that docs/benchmarks.md has of mixed prompts, 2.09 at K=4, within 0.2.
UNSTATED_LOOKUP = Range(0.0, 0.5, 0.95)
MOST_DRAFTS = 8
ALIKE = 0.05  # speedups that differ by less are not told apart

Verdict = Literal["pays", "loses", "cannot tell"]
Cause = Literal["verification", "draft cost", "acceptance"]


@dataclass(frozen=True)
class Row:
    """The prediction for one K.

    Attributes:
        k: draft tokens a round.
        rows_cost: V(K+1).
        length: acceptance length, tokens a round.
        speedup: over plain decoding.
        break_even: the constant hazard at which the likeliest speedup is 1; None if none reaches it.
    """

    k: int
    rows_cost: Range
    length: Range
    speedup: Range
    break_even: float | None


@dataclass(frozen=True)
class Plan:
    """A prediction.

    Attributes:
        plain: tokens a second without drafts.
        limit: tokens a second if reading the weights were all there is to do.
        c: time of drafting one token over the time of a plain one.
        rows: one for each K for which something is known.
        verdict: whether some K is faster than plain decoding all over its range, none is, or neither.
        cause: the factor whose ideal value would help most.
        best: the Ks whose likeliest speedups are not told apart from the best one's; of a pair that pays,
            among the Ks that are faster than plain decoding all over their range.
    """

    plain: Range
    limit: float
    c: Range
    rows: tuple[Row, ...]
    verdict: Verdict
    cause: Cause
    best: tuple[int, ...]

    def as_object(self) -> dict[str, Any]:
        return asdict(self)


def efficiency_of(chip: Chip) -> Range:
    """Share of the bandwidth that decoding is expected to reach."""
    return EFFICIENCY_ULTRA if chip.tier == "Ultra" else EFFICIENCY


def plain_seconds(read: float, chip: Chip) -> Range:
    """Seconds of a forward pass over one row, so of a plain token, that reads `read` bytes."""
    return Range.exactly(read / chip.bandwidth) / efficiency_of(chip) + PASS_OVERHEAD


def draft_cost(draft: float, target: float, chip: Chip) -> Range:
    """c, given the bytes that a draft token and a target token read; 0 for a draft that reads none."""
    if not draft:
        return Range.exactly(0.0)

    # Not a quotient of ranges: both models meet the same efficiency and the same overhead.
    def ratio(share: float, overhead: float) -> float:
        moved = chip.bandwidth * share * overhead  # bytes that could be read meanwhile
        return (draft + moved) / (target + moved)

    share = efficiency_of(chip)
    corners = [ratio(s, o) for s in (share.low, share.high) for o in (PASS_OVERHEAD.low, PASS_OVERHEAD.high)]
    return Range(min(corners), ratio(share.mid, PASS_OVERHEAD.mid), max(corners))


def acceptance_length(hazards: Sequence[float], k: int) -> float:
    """1 + S_1 + ... + S_k; the last hazard stands for all positions after it."""
    return emitted([hazards[min(i, len(hazards) - 1)] for i in range(k)])[k]


def round_cost(rows_cost: Range, k: int, c: Range, overhead: Range) -> Range:
    """A round of K drafts in plain tokens."""
    return rows_cost + c * k + overhead


def predict(
    target: Size,
    draft: Size | None,
    chip: Chip,
    expected: Expectation,
    hazards: Sequence[float] | None = None,
    context: int = 0,
) -> Plan:
    """Predict a pair.

    Args:
        target: the model whose answers are wanted.
        draft: the draft model; None for drafts that read no weights, such as lookup.
        chip: where it runs.
        expected: what verifying rows costs there.
        hazards: P(position i is accepted given those before it); None for a range of usual ones.
        context: tokens in the KV cache; they count where the size of a token's entry is known.

    Raises:
        ValueError: a hazard is no probability, or there is none.
    """
    if hazards is not None and (not hazards or not all(0 <= a <= 1 for a in hazards)):
        raise ValueError("hazards must be probabilities, at least one")
    read = target.read + context * (target.kv_bytes or 0)
    drafting = draft.read + context * (draft.kv_bytes or 0) if draft else 0.0
    seconds = plain_seconds(read, chip)
    c = draft_cost(drafting, read, chip)
    overhead = ROUND_OVERHEAD / seconds
    usual = unstated(draft)

    def row(k: int, rows_cost: Range) -> Row:
        length, cost = lengths(hazards, k, usual), round_cost(rows_cost, k, c, overhead)
        return Row(k, rows_cost, length, length / cost, break_even(k, cost.mid))

    rows = tuple(row(k, cost) for k in range(1, MOST_DRAFTS + 1) if (cost := expected.at(k + 1)))
    sure = [r for r in rows if r.speedup.low > 1]
    top = fastest(sure or rows)
    return Plan(
        plain=Range.exactly(1) / seconds,
        limit=chip.bandwidth / read,
        c=c,
        rows=rows,
        verdict=_verdict(rows),
        cause=_cause(top, c.mid, overhead.mid),
        best=tuple(r.k for r in sure or rows if r.speedup.mid * (1 + ALIKE) >= top.speedup.mid),
    )


def fastest(rows: Sequence[Row]) -> Row:
    """The row whose likeliest speedup is the largest."""
    return max(rows, key=lambda row: row.speedup.mid)


def unstated(draft: Size | None) -> Range:
    """The hazard of a draft model, or of lookup, that nobody has stated."""
    return UNSTATED_ACCEPTANCE if draft else UNSTATED_LOOKUP


def lengths(hazards: Sequence[float] | None, k: int, usual: Range = UNSTATED_ACCEPTANCE) -> Range:
    """Acceptance length at K; a range, by the usual hazards, if they are not stated."""
    if hazards is None:
        return usual.map(lambda hazard: acceptance_length([hazard], k))
    return Range.exactly(acceptance_length(hazards, k))


def break_even(k: int, cost: float) -> float | None:
    """The constant hazard at which a round of K drafts brings `cost` tokens; None if none does."""
    if k + 1 < cost:
        return None
    low, high = 0.0, 1.0
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (middle, high) if acceptance_length([middle], k) < cost else (low, middle)
    return high


def _verdict(rows: Sequence[Row]) -> Verdict:
    if any(row.speedup.low > 1 for row in rows):
        return "pays"
    return "loses" if all(row.speedup.high < 1 for row in rows) else "cannot tell"


def _cause(row: Row, c: float, overhead: float) -> Cause:
    """The factor whose ideal value would lift the speedup of this K most."""
    cost = row.rows_cost.mid + row.k * c + overhead
    ideal: dict[Cause, float] = {
        "verification": row.length.mid / (cost - row.rows_cost.mid + 1),
        "draft cost": row.length.mid / (cost - row.k * c),
        "acceptance": (row.k + 1) / cost,
    }
    return max(ideal, key=lambda cause: ideal[cause])
