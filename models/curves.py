"""What verifying several rows is expected to cost on a chip, from published curves or the kernels' rule.

The data is `curves.json` beside this file, with its sources. Nothing in it was measured here, and a
measurement on the machine itself replaces all of it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from models.range import Range
from models.size import Size
from models.storage import Storage

# One chip's own curve, reported twice, differs by up to 8%. Between chips nobody has published enough.
OWN_SPREAD, STAND_IN_SPREAD = 0.10, 0.25
# Rows one by one: the rule says 1; reports from an M1 Ultra lie at 0.8 to 0.95 of it.
ROW_BY_ROW = (0.8, 1.0)
ROW_BY_ROW_ID = "row-by-row"
_LONGEST = 32  # rows up to which a tiled product stays flat


@dataclass(frozen=True)
class Chip:
    """An Apple chip.

    Attributes:
        name: such as "M4 Pro".
        generation: 13 for M1 to 17 for M5, as in the GPU's architecture string.
        tier: "", "Pro", "Max" or "Ultra".
        bandwidth: of its memory, bytes a second.
    """

    name: str
    generation: int
    tier: str
    bandwidth: float

    @classmethod
    def parse(cls, text: str) -> Chip | None:
        """The chip that `text` names, such as "M4 Pro", "m4pro" or "Apple M4 Pro"; None for others."""
        plain = re.sub(r"[\s_-]", "", text.lower()).removeprefix("apple")
        return next((_chip(name) for name in chip_names() if name.replace(" ", "").lower() == plain), None)


@dataclass(frozen=True)
class Curve:
    """A published curve, or a limit case.

    Attributes:
        id: its name in the data.
        chip: that it was measured on.
        weights: how they were stored, in the words of the report.
        rows: V(M) by M.
        source: who published it.
        unfit: why it is kept but predicts nothing; empty for the others.
    """

    id: str
    chip: str
    weights: str
    rows: Mapping[int, float]
    source: str
    unfit: str = ""

    def at(self, rows: int) -> float | None:
        """V at `rows`, on the line between its published neighbours; None beyond the last of them."""
        if rows in self.rows:
            return self.rows[rows]
        below = max((m for m in self.rows if m < rows), default=None)
        above = min((m for m in self.rows if m > rows), default=None)
        if below is None or above is None:
            return None
        share = (rows - below) / (above - below)
        return self.rows[below] + share * (self.rows[above] - self.rows[below])


@dataclass(frozen=True)
class Expectation:
    """What verification is expected to cost.

    Attributes:
        curves: the candidates.
        spread: how far the truth may lie off them, as a share.
        serial_limit: rows up to which rows are read one by one, where that is the rule; else None.
        experts: whether the experts' part is read row by row on top.
        notes: sentences on what this rests on.
    """

    curves: tuple[Curve, ...]
    spread: float
    serial_limit: int | None
    experts: bool
    notes: tuple[str, ...]

    def at(self, rows: int) -> Range | None:
        """V(rows); None where nothing is published."""
        ranges = []
        if values := [max(1.0, value) for curve in self.curves if (value := curve.at(rows)) is not None]:
            found = Range.spanning(values)
            wide = 1 + self.spread
            ranges.append(Range(max(1.0, found.low / wide), found.mid, found.high * wide))
        if self.serial_limit is not None and rows <= _LONGEST:
            low, high = (1 + share * (min(rows, self.serial_limit) - 1) for share in ROW_BY_ROW)
            ranges.append(Range(low, (low + high) / 2, high))
        if not ranges:
            return None
        if self.experts:
            ranges.append(Range.exactly(rows))
        low, high = min(each.low for each in ranges), max(each.high for each in ranges)
        return Range(low, math.prod(each.mid for each in ranges) ** (1 / len(ranges)), high)


def expectation(chip: Chip, target: Size, curve_id: str | None = None) -> Expectation:
    """What verifying rows of `target` on `chip` is expected to cost.

    Args:
        chip: where.
        target: its storage decides which kernels run.
        curve_id: take this curve alone, exactly as it is; `row-by-row` takes the rule.
    """
    if curve_id == ROW_BY_ROW_ID:
        return _row_by_row(chip, (), ("Rows are read one by one: that was asked for.",))
    if curve_id is not None:
        curve = usable()[curve_id]
        return Expectation(
            (curve,), 0.0, None, False, (f"The curve {curve.id} was asked for ({curve.source}).",)
        )
    found = _of_storage(chip, target.storage)
    if not target.experts:
        return found
    note = "Experts are gathered row by row on every chip, so the cost may reach one full pass a row."
    return replace(found, experts=True, notes=(*found.notes, note))


def _of_storage(chip: Chip, storage: Storage) -> Expectation:
    if storage.kind == "plain":
        dense = usable()["m3ultra-bf16"]
        notes = [
            f"{storage.name} weights: one published curve, {dense.chip} ({dense.source}), stands in: "
            "about 2x from the second row on, then flat."
        ]
        if chip.generation < 15:
            return Expectation((dense,), STAND_IN_SPREAD, None, False, tuple(notes))
        notes.append(
            "Since MLX 0.32.1 another kernel runs here, and no curve of it is published: down to 1x."
        )
        return Expectation((dense, usable()["flat"]), OWN_SPREAD, None, False, tuple(notes))
    if storage.kind == "affine" and chip.generation < 15:
        own = tuple(curve for curve in _of_weights(storage) if curve.chip == chip.name)
        notes = [
            "No curve is published for this generation. MLX's kernels read affine weights once a row here, "
            f"up to {_serial_limit(chip) - 1} rows, and in tiles from there on: "
            "an expectation from the source, not a measurement."
        ]
        if own:
            notes.append(
                f"One second-hand report on this chip is far flatter ({own[0].id}); both are spanned."
            )
        return _row_by_row(chip, own, tuple(notes))
    return _wide(chip, storage)


def _serial_limit(chip: Chip) -> int:
    """Rows from which tiles read the weights once, on M1 and M2."""
    return 12 if chip.tier == "Ultra" else 6


def _row_by_row(chip: Chip, published: tuple[Curve, ...], notes: tuple[str, ...]) -> Expectation:
    return Expectation(published, OWN_SPREAD, _serial_limit(chip), False, notes)


def _wide(chip: Chip, storage: Storage) -> Expectation:
    """Kernels that read the weights once for some rows: M3 and later, and mx weights everywhere."""
    same = _of_weights(storage)
    candidates = [
        curve
        for curve in same or _of_weights(Storage("affine", "4-bit", 4.5))
        if _chip(curve.chip).generation >= 15
    ]
    own = [curve for curve in candidates if curve.chip == chip.name]
    kin = [curve for curve in candidates if _chip(curve.chip).generation == chip.generation]
    chosen = own or kin or candidates
    sources = ", ".join(f"{curve.chip} ({curve.source})" for curve in chosen)
    notes = (
        f"Curves of this chip are published: {sources}."
        if own
        else f"No curve is published for {chip.name}; it is expected to be like {sources}.",
        *(() if same else (f"None is of {storage.name} weights; 4-bit ones stand in.",)),
    )
    spread = OWN_SPREAD if own and same else STAND_IN_SPREAD
    return Expectation(tuple(chosen), spread, None, False, notes)


def _of_weights(storage: Storage) -> list[Curve]:
    return [curve for curve in usable().values() if curve.weights == f"{storage.name} affine"]


@cache
def data() -> dict[str, Any]:
    """The published numbers, as they are in the file."""
    loaded: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
    return loaded


@cache
def published() -> dict[str, Curve]:
    """All curves and limit cases, by id."""
    return {
        row["id"]: Curve(
            row["id"],
            row["chip"],
            row["weights"],
            {int(m): float(v) for m, v in row["rows"].items()},
            row["source"],
            row.get("unfit", ""),
        )
        for row in data()["curves"]
    }


def usable() -> dict[str, Curve]:
    """Those that a prediction may rest on, by id."""
    return {name: curve for name, curve in published().items() if not curve.unfit}


def curve_ids() -> list[str]:
    """What `expectation` takes as a curve."""
    return [*usable(), ROW_BY_ROW_ID]


def chip_names() -> list[str]:
    """The chips whose memory bandwidth is known."""
    return list(data()["bandwidth_gb_s"])


@cache
def _chip(name: str) -> Chip:
    model, _, tier = name.partition(" ")
    return Chip(name, 12 + int(model.removeprefix("M")), tier, data()["bandwidth_gb_s"][name] * 1e9)
