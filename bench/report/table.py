"""The cells of a report's tables, as text: the same in the terminal, in Markdown and in HTML."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.findings import Findings
from bench.rows import Row
from bench.statistics import UNKNOWN, ratio


@dataclass(frozen=True)
class Column:
    """A column of the table of ways.

    Attributes:
        title: short.
        meaning: what the number is, for those who ask.
        cell: its text.
    """

    title: str
    meaning: str
    cell: Callable[[Row], str]


@dataclass(frozen=True)
class Table:
    """A table as text; the first cell of a row names it."""

    caption: str
    heads: list[str]
    rows: list[list[str]]


def number(value: float | None, form: str) -> str:
    return UNKNOWN if value is None else format(value, form)


def size(value: int) -> str:
    """Bytes as people say them."""
    if not value:
        return UNKNOWN
    return f"{value / 1e9:.1f} GB" if value >= 1e9 else f"{value / 1e6:.1f} MB"


def _milliseconds(seconds: float | None) -> str:
    return UNKNOWN if seconds is None else f"{1e3 * seconds:.0f}"


def _same(row: Row) -> str:
    return f"{row.same[0]}/{row.same[1]}" if row.same else UNKNOWN


SPEED = (
    Column("tok/s", "tokens a second after the first step", lambda row: f"{row.tok_s:.2f}"),
    Column("speedup", "over the baseline, with its 95% interval", lambda row: ratio(row.speedup)),
    Column("accepted", "acceptance rate: accepted / drafted", lambda row: number(row.acceptance_rate, ".0%")),
    Column("length", "tokens a speculative round", lambda row: number(row.acceptance_length, ".2f")),
    Column("same", "prompts with the baseline's own tokens", _same),
)
WAITING = (
    Column("TTFT s", "seconds to the first token, median", lambda row: number(row.ttft_s, ".2f")),
    Column(
        "gap P50 ms", "between one step's tokens and the next one's", lambda row: _milliseconds(row.gap_p50)
    ),
    Column("gap P95 ms", "the same, for the slowest twentieth", lambda row: _milliseconds(row.gap_p95)),
)
COST = (
    Column("predicted", "speedup that costs and rounds add up to", lambda row: number(row.predicted, ".2f")),
    Column("V(K+1)", "time of verifying a draft over one step", lambda row: number(row.verify_cost, ".2f")),
    Column(
        "serial index", "(V(K+1) - 1) / K: 0 is free, 1 row by row", lambda r: number(r.serial_index, ".2f")
    ),
    Column("c", "time of drafting one token over one step", lambda row: number(row.c, ".2f")),
    Column("draft", "memory of the draft source, with its cache", lambda row: size(row.draft_bytes)),
    Column("extra", "peak memory over the baseline's", lambda row: size(row.extra_bytes)),
)
ALL = (*SPEED, *WAITING, *COST)


def ways(findings: Findings, columns: Sequence[Column] = ALL) -> Table:
    """One row a way."""
    return Table(
        "Ways of decoding",
        ["way", *(column.title for column in columns)],
        [[row.way.name, *(column.cell(row) for column in columns)] for row in findings.rows],
    )


def groups(findings: Findings) -> Table:
    """Speedup of each way in each class of prompts."""
    names = [row.way.name for row in findings.rows[1:]]
    return Table(
        "Speedup by class of prompts",
        ["class", *names],
        [
            [group, *(f"{found[name].value:.2f}" for name in names)]
            for group, found in findings.groups.items()
        ],
    )


def parts(findings: Findings) -> Table:
    """Milliseconds of a round's parts."""
    rows = [
        [row.way.name, str(row.parts.rows)]
        + [f"{1e3 * part:.1f}" for part in (row.parts.draft_s, row.parts.verify_s, row.parts.rest_s)]
        for row in findings.rows
        if row.parts
    ]
    return Table("Milliseconds of a round", ["way", "rows", "draft", "verify", "rest"], rows)


def positions(findings: Findings) -> Table:
    """Accepted of tested at each position of a draft."""
    drafted = [row for row in findings.rows if row.by_position]
    most = max((len(row.by_position) for row in drafted), default=0)
    return Table(
        "Acceptance by position",
        ["way", *(str(i + 1) for i in range(most))],
        [
            [row.way.name]
            + [f"{a / n:.0%} of {n}" if n else UNKNOWN for a, n in row.by_position]
            + [UNKNOWN] * (most - len(row.by_position))
            for row in drafted
        ],
    )
