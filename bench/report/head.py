"""The head of a report: what was measured, and where."""

from __future__ import annotations

from bench.findings import Findings
from bench.record import Record
from bench.words import plural


def title(record: Record, findings: Findings) -> str:
    """What was measured, in one line."""
    design = record.design
    draft = f", draft {design.draft['name']}" if design.draft else ""
    return (
        f"{design.model['name']} ({design.model['quantization'] or design.model['dtype']}){draft}: "
        f"{plural(findings.prompts, 'prompt')}, {plural(findings.blocks, 'block')}, "
        f"at most {design.tokens} tokens"
    )


def place(record: Record) -> str:
    """The machine, the version and the day, in one line."""
    where = record.environment
    return f"{where['chip']}, {where['system']}, mlx {where['versions']['mlx']}, {where['date']}"
