"""The predictions of `specchat plan` against speedups that others published: `python -m bench.published`.

It prints docs/plan.md. Each pair says what is known of it and what is assumed; what is not known widens
the range and is never filled in from the result, but for one constant, which the page names.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models import curves, plan
from models.curves import ROW_BY_ROW, ROW_BY_ROW_ID, Chip, Expectation
from models.range import Range
from models.size import size_of


@dataclass(frozen=True)
class Pair:
    """One published speedup and its prediction.

    Attributes:
        id, source, k, measured, known, assumed: as in published.json.
        predicted: the range of the speedup, and what is likeliest.
    """

    id: str
    source: str
    k: int
    measured: float
    known: str
    assumed: str
    predicted: Range

    @property
    def error(self) -> float:
        """How far the likeliest prediction is off, as a share of what was measured."""
        return self.predicted.mid / self.measured - 1

    @property
    def right_sign(self) -> bool:
        """Whether both say faster than plain, or both slower."""
        return (self.predicted.mid > 1) == (self.measured > 1)

    @property
    def inside(self) -> bool:
        return self.predicted.low <= self.measured <= self.predicted.high


def data() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
    return loaded


def pairs() -> list[Pair]:
    """Every published pair, with its prediction."""
    return [
        Pair(**{key: row[key] for key in ("id", "source", "k", "measured", "known", "assumed")},
             predicted=_predicted(row))
        for row in data()["pairs"]
    ]  # fmt: skip


def _predicted(row: dict[str, Any]) -> Range:
    chip = Chip.parse(row["chip"])
    assert chip is not None
    cost = _expected(row, chip).at(row["k"] + 1)
    assert cost is not None
    # Without a target its time is unknown, and a round's own overhead is nothing beside any usual one.
    seconds = plan.plain_seconds(size_of(row["target"]).read, chip) if row["target"] else None
    overhead = Range.exactly(plan.ROUND_OVERHEAD.mid / seconds.mid if seconds else 0.0)
    return _length(row) / plan.round_cost(cost, row["k"], _draft_cost(row, chip), overhead)


def _expected(row: dict[str, Any], chip: Chip) -> Expectation:
    match row.get("curves"):
        case None:
            return curves.expectation(chip, size_of(row["target"]))
        case [curve] if curve == ROW_BY_ROW_ID:
            # Another engine's kernels: row by row at any number of rows.
            low, high = (
                curves.Curve("", "", "", {1: 1.0, 16: 1 + 15 * share}, "rule") for share in ROW_BY_ROW
            )
            return Expectation((low, high), 0.0, None, False, ())
        case ids:
            return Expectation(tuple(curves.usable()[each] for each in ids), 0.0, None, False, ())


def _draft_cost(row: dict[str, Any], chip: Chip) -> Range:
    if "c" in row:
        return Range.spanning(row["c"])
    target = size_of(row["target"])
    c = plan.draft_cost(size_of(row["draft"]).read, target.read, chip)
    if "draft_ms" in row:
        slowest = row["draft_ms"][1] / 1e3 / plan.plain_seconds(target.read, chip).mid
        return Range.spanning([c.mid, slowest])
    return c


def _length(row: dict[str, Any]) -> Range:
    k = row["k"]
    if "rate" in row:
        return Range.exactly(1 + k * row["rate"])
    if "share" in row:
        return Range.exactly(1 / (1 - row["share"]))
    return plan.lengths(row.get("hazards"), k)


def page(found: Sequence[Pair]) -> str:
    """The page in Markdown."""
    return _PAGE.format(
        table="\n".join(_line(pair) for pair in found),
        details="\n".join(
            f"- **{each.id}**: known: {each.known}. Assumed: {each.assumed}." for each in found
        ),
        signs=sum(pair.right_sign for pair in found),
        total=len(found),
        inside=sum(pair.inside for pair in found),
        typical=f"{sorted(abs(pair.error) for pair in found)[len(found) // 2]:.0%}",
        worst=f"{max(abs(pair.error) for pair in found):.0%}",
        low=ROW_BY_ROW[0],
        hazard=plan.UNSTATED_ACCEPTANCE,
        sources="\n".join(f"- {name}: {what}." for name, what in data()["sources"].items()),
        efficiency=f"{plan.EFFICIENCY.low} to {plan.EFFICIENCY.high} ({plan.EFFICIENCY_ULTRA.low} to "
        f"{plan.EFFICIENCY_ULTRA.high} on an Ultra)",
        overhead=f"{plan.PASS_OVERHEAD.low * 1e3:g} to {plan.PASS_OVERHEAD.high * 1e3:g} ms",
        round=f"{plan.ROUND_OVERHEAD.low * 1e3:g} to {plan.ROUND_OVERHEAD.high * 1e3:g} ms",
        decode="\n".join(_decode_line(row) for row in curves.data()["decode_reports"]),
        bandwidth=curves.data()["bandwidth_source"],
    )


def _line(pair: Pair) -> str:
    low, mid, high = (
        f"{value:.2f}" for value in (pair.predicted.low, pair.predicted.mid, pair.predicted.high)
    )
    return (
        f"| {pair.id} | {pair.source} | {pair.k} | {pair.measured:.2f} | {mid} ({low} to {high}) "
        f"| {pair.error:+.0%} | {'yes' if pair.right_sign else 'no'} | {'yes' if pair.inside else 'no'} |"
    )


def _decode_line(row: dict[str, Any]) -> str:
    chip = Chip.parse(row["chip"])
    assert chip is not None
    speed = Range.exactly(1) / plan.plain_seconds(size_of(row["model"]).read, chip)
    return (
        f"| {row['chip']} | {row['model']} | {row['tok_s']:.1f} "
        f"| {speed.mid:.1f} ({speed.low:.1f} to {speed.high:.1f}) "
        f"| {speed.mid / row['tok_s'] - 1:+.0%} | {row['source']} |"
    )


_PAGE = """\
# What `specchat plan` predicts, and how far off it is

Made by `python -m bench.published > docs/plan.md`. Nothing on this page was measured for this project:
these are other people's numbers against a formula. `specchat plan` names its assumptions each time; a
measurement on your own machine replaces all of this.

## The formula

- A plain token takes T = bytes / (bandwidth x efficiency) + overhead. Bytes are those of the weights that
  one token reads (of a mixture of experts the active ones), and of the KV cache where its size is known.
  Efficiency is {efficiency}, the overhead of a forward pass
  {overhead}. Bandwidths are {bandwidth}.
- A draft token costs c = T_draft / T_target plain ones.
- A round of K drafts costs V(K+1) + K c + r plain tokens, with a round's own overhead r of {round}, and
  brings 1 + S_1 + ... + S_K tokens, S_k being the product of the first k hazards.
- V comes from published curves of the chip, or of its kin with a wider range. M1 and M2 have none: MLX's
  kernels read affine weights once a row there, so V(M) = 1 + s (M - 1) with s = {low} to 1, up to 5 rows
  (11 on an Ultra), and is level from there to 32 rows, where tiles take over.

**Some constants come from results on this page.** The lower end {low} of s: the M1 Ultra pairs of #113 put
V(3) + 2c at 2.7 to 3.05. The efficiencies and the overhead: the reports of plain decoding below lie inside.
Errors there say how well the formula fits, not how well it foresees.

## Speedups

- The sign is right for {signs} of {total} pairs.
- {inside} of {total} lie inside the predicted range. Where acceptance was not published, the likeliest prediction
  takes a hazard of {hazard.mid} and the range {hazard.low} to {hazard.high}; such ranges are wide, and lying inside says little.
- The likeliest value is off by {typical} in the middle and by {worst} at worst.

| pair | source | K | published | predicted | error | sign | inside |
|---|---|---|---|---|---|---|---|
{table}

The order of the preprint's five pairs comes out right, but only the steps between its three groups (1.57
and 1.40; 0.52 and 0.50; 0.33) rest on what is known. Inside a group it rests on the assumptions below, and
the ranges overlap nearly whole.

The two pairs outside, m1ultra-32b-4 and m1ultra-70b, were faster than their own stated acceptance explains.

Left out, because `plan` knows draft models alone or because the models are not named: MTP heads on an M1
Ultra at 0.75 to 0.96x and at 1.1 to 1.4x (lablup/mlxcel#216), and on an M2 Max at 1.19x
(raullenchai/Rapid-MLX#3140); 1.12x on an M2 Ultra (ml-explore/mlx-examples#1155). They say that M1 and M2
are not lost for good: a cheap source that is often right can pay there. No M2 report with a named pair of
models was found.

{details}

## Plain decoding

| chip | model | published tok/s | predicted | error | source |
|---|---|---|---|---|---|
{decode}

## Sources

{sources}

Curves and their sources are in `models/curves.json`, these pairs in `bench/published.json`.
"""  # noqa: E501  numbers take the places of longer names

if __name__ == "__main__":
    sys.stdout.write(page(pairs()))
