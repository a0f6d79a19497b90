"""results.json: every sample, where it was measured, and what was concluded."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.conclusions import conclusions
from bench.design import Design
from bench.findings import Findings, find
from bench.record import Record
from bench.rows import Row
from bench.statistics import Estimate
from mlx_spec.errors import SpecError

FILE = "results.json"
FORMAT = 1


def as_json(record: Record, findings: Findings | None) -> dict[str, Any]:
    """The object of results.json. What is not known is null."""
    return {
        "format": FORMAT,
        "environment": record.environment,
        "conditions": record.conditions,
        "design": record.design.as_json(),
        "findings": _findings(findings) if findings else None,
        "paces": [asdict(pace) for pace in record.paces],
        "splits": [split.as_json() for split in record.splits],
        "samples": [sample.as_json() for sample in record.samples],
    }


def read(path: Path) -> Record:
    """The record in a results.json, or in the folder that has one.

    Raises:
        SpecError: there is none, or it is none of ours.
    """
    file = path / FILE if path.is_dir() else path
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        if data["format"] != FORMAT:
            raise SpecError(f"{file} has format {data['format']}, not {FORMAT}.", "Measure again.")
        record = Record(Design.from_json(data["design"]), dict(data["environment"].items()))
        for conditions in data["conditions"]:
            record.take({"kind": "end", "conditions": conditions})
        for kind in ("pace", "split", "sample"):
            for entry in data[f"{kind}s"]:
                record.take({"kind": kind, **entry})
    except OSError as error:
        raise SpecError(
            f"{file} cannot be read: {error.strerror}.", "Name a folder that --out made, or its results.json."
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise SpecError(
            f"{file} holds no results of a sweep.", "Name a folder that --out made, or its results.json."
        ) from None
    return record


def known(record: Record, name: str) -> Findings:
    """The findings of a record that must have some.

    Raises:
        SpecError: it has no complete block.
    """
    findings = find(record)
    if findings is None:
        raise SpecError(f"{name} has no complete block.", "Go on with it by --resume.")
    return findings


def _findings(findings: Findings) -> dict[str, Any]:
    return {
        "conclusions": conclusions(findings),
        "cautions": findings.cautions,
        "prompts": findings.prompts,
        "blocks": findings.blocks,
        "best": [way.name for way in findings.best],
        "recommended": findings.recommended.name if findings.recommended else None,
        "halves": [{"picked": h.picked, "speedup": h.speedup.as_json()} for h in findings.halves],
        "autos": {name: low or None for name, low in findings.autos.items()},
        "ways": {row.way.name: _row(row) for row in findings.rows},
        "groups": {
            group: {name: _estimate(each) for name, each in ways.items()}
            for group, ways in findings.groups.items()
        },
        "verify_cost": {str(rows): cost for rows, cost in findings.curve.items()},
    }


def _row(row: Row) -> dict[str, Any]:
    same = {"agree": row.same[0], "of": row.same[1]} if row.same else None
    return {**asdict(row), "way": asdict(row.way), "speedup": _estimate(row.speedup), "same": same}


def _estimate(estimate: Estimate | None) -> dict[str, float | None] | None:
    return estimate.as_json() if estimate else None
