"""samples.csv: one line a run, for a spreadsheet or a statistician of one's own."""

from __future__ import annotations

import csv
import io

from bench.record import Record

FIELDS = (
    *("block", "place", "way", "source", "k", "prompt", "class", "session", "tokens", "seconds", "ttft_s"),
    *("reused", "rounds", "drafted", "accepted", "draft_bytes", "kv_bytes", "peak_bytes", "finish", "digest"),
)
_FORMULA = "=+-@\t\r"  # what a spreadsheet would compute instead of showing


def report(record: Record) -> str:
    """The samples as comma-separated values."""
    ways = {way.name: way for way in record.design.ways}
    groups = {prompt: group for prompt, group, _ in record.design.prompts}
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(FIELDS)
    for sample in record.samples:
        way, counts = ways[sample.way], sample.counts
        row = [sample.block, sample.place, sample.way, way.source, way.k, sample.prompt]
        row += [groups[sample.prompt], sample.session, sample.tokens, round(sample.seconds, 6), sample.ttft_s]
        row += [counts.reused, counts.rounds, counts.drafted, counts.accepted, counts.draft_bytes]
        row += [counts.kv_bytes, sample.peak_bytes, counts.finish, sample.digest]
        writer.writerow([_harmless(cell) for cell in row])
    return out.getvalue()


def _harmless(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(tuple(_FORMULA)) else cell
