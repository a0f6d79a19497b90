"""The report as Markdown, for a place where numbers are kept."""

from __future__ import annotations

from bench.conclusions import conclusions
from bench.findings import Findings
from bench.record import Record
from bench.report import table
from bench.report.head import place, title

_MARKS = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_[]<>|#"})


def report(record: Record, findings: Findings) -> str:
    """Tables and sentences; names are shown as they are, never as markup."""
    lines = [
        f"# {_plain(title(record, findings))}",
        "",
        _plain(place(record)),
        "",
        *(f"- {_plain(sentence)}" for sentence in conclusions(findings)),
        *(f"- Caution: {_plain(sentence)}" for sentence in findings.cautions),
    ]
    contents = [
        table.ways(findings),
        table.groups(findings),
        table.positions(findings),
        table.parts(findings),
    ]
    for content in contents:
        if content.rows:
            lines += ["", f"## {content.caption}", "", *_rows(content)]
    return "\n".join(lines) + "\n"


def _rows(content: table.Table) -> list[str]:
    rows = [content.heads, ["---"] + ["---:"] * (len(content.heads) - 1), *content.rows]
    return [
        f"| {' | '.join(cell if i == 1 else _plain(cell) for cell in row)} |" for i, row in enumerate(rows)
    ]


def _plain(text: str) -> str:
    """As it is: no markup, no end of a row, nothing that a terminal obeys."""
    return "".join(c if c.isprintable() else "\ufffd" for c in text.translate(_MARKS))
