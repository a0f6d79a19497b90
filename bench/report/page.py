"""The report as one HTML page that needs nothing else: no script, no font, no network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

from bench.conclusions import conclusions
from bench.findings import Findings
from bench.record import Record
from bench.report import plots, table
from bench.report.head import place, title
from bench.report.svg import Chart
from bench.report.table import ALL, Table

_STYLE = Path(__file__).with_name("page.css")
# The browser itself keeps the promise that nothing is fetched.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def report(record: Record, findings: Findings) -> str:
    """The whole page. Every name in it is escaped; it has no text of any answer."""
    head = title(record, findings)
    body = "".join(_body(record, findings, head))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(head)}</title><style>{_STYLE.read_text(encoding='utf-8')}</style></head>"
        f"<body><main>{body}</main></body></html>\n"
    )


def _body(record: Record, findings: Findings, head: str) -> Iterator[str]:
    yield f"<h1>{escape(head)}</h1>"
    yield _paragraph(place(record))
    yield _list("What follows", "conclusions", conclusions(findings))
    if findings.cautions:
        yield _list("Read with caution", "cautions", findings.cautions)
    peers = record.design.bench == "peers"
    legend = plots.legend(findings)
    if peers:
        yield _figure(plots.ranking(findings), "The same prompts in the same run, with 95% intervals.", "")
    else:
        yield _figure(
            plots.speedup(findings),
            "Speedup over plain decoding with 95% intervals, on a logarithmic scale; above 1 it pays. "
            "Loop is the speculative loop without drafts: what it costs by itself.",
            _legend(legend),
        )
    yield _table(table.ways(findings), "ways")
    meanings = "".join(f"<dt>{escape(c.title)}</dt><dd>{escape(c.meaning)}</dd>" for c in ALL)
    yield f"<details><summary>What the columns mean</summary><dl>{meanings}</dl></details>"
    yield _figure(
        plots.acceptance(findings),
        "How often a drafted token stands, given that all before it in its draft did.",
        _legend({name: series for name, series in legend.items() if name != "loop"}),
        missing="Acceptance by position: nothing was drafted.",
    )
    yield _table(table.positions(findings), "positions")
    yield _figure(
        plots.time_split(findings),
        "A typical round: drafting, verifying, the rest, from left to right. Each part was waited for by "
        "itself, apart from the timed runs.",
        _parts_legend(),
        missing="Time of a round: not measured.",
    )
    yield _table(table.parts(findings), "parts")
    yield _figure(
        plots.verify_cost(findings),
        "Cost of a target forward over M rows. On the lower limit verifying is free; on the upper one it "
        "goes row by row, and speculation cannot pay.",
        "",
        missing="Cost of verifying: not measured.",
    )
    yield _table(table.groups(findings), "groups")
    yield _table(_environment(record), "environment")


def _figure(chart: Chart | None, caption: str, legend: str, missing: str = "") -> str:
    if chart is None:
        return _paragraph(missing)
    return (
        f"<figure><h2>{escape(chart.title)}</h2>{legend}{chart.render()}"
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def _legend(series: Mapping[str, int]) -> str:
    """Names with the marks that the plots give them."""
    keys = []
    for name, i in series.items():
        key = Chart("", "", "")
        key.mark(7, 7, i, name)
        keys.append((name, key))
    return _keys(keys)


def _parts_legend() -> str:
    keys = []
    for i, name in enumerate(("draft", "verify", "rest")):
        key = Chart("", "", "")
        key.bar(0, 0, 14, 14, f"part{i}", name)
        keys.append((name, key))
    return _keys(keys)


def _keys(keys: Sequence[tuple[str, Chart]]) -> str:
    items = "".join(f"<li>{key.render_key()}{escape(name)}</li>" for name, key in keys)
    return f'<ul class="legend">{items}</ul>'


def _table(content: Table, name: str) -> str:
    """A table that scrolls by itself where it is wider than the screen."""
    if not content.rows:
        return ""
    heads = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in content.heads)
    rows = "".join(
        f'<tr><th scope="row">{escape(first)}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in rest)
        + "</tr>"
        for first, *rest in content.rows
    )
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-labelledby="{name}-caption">'
        f'<table id="{name}"><caption id="{name}-caption">{escape(content.caption)}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _environment(record: Record) -> Table:
    where, design = record.environment, record.design
    facts = {
        "chip": where["chip"],
        "cores": where["cores"],
        "memory": table.size(where["memory_bytes"] or 0),
        "system": f"{where['system']}, {where['os']}",
        "device": ", ".join(map(str, where["device"].values())),
        **{name: version or "from source" for name, version in where["versions"].items()},
        "python": where["python"],
        **where["variables"],
        "target": _model(design.model),
        "draft": _model(design.draft) if design.draft else table.UNKNOWN,
        "prompts": f"{len(design.prompts)}, sha256 {design.prompt_hash}",
        "seed": design.seed,
        **design.engine,
        "prompts read": "by every run" if design.cold else "once a block",
        "load at the start": record.conditions[0]["load"],
    }
    return Table(
        "Where it was measured", ["", "value"], [[name, str(value)] for name, value in facts.items()]
    )


def _model(model: Mapping[str, object]) -> str:
    return ", ".join(str(value) for value in model.values() if value is not None)


def _list(title: str, name: str, sentences: list[str]) -> str:
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    return f'<section id="{name}"><h2>{escape(title)}</h2><ul>{items}</ul></section>' if sentences else ""


def _paragraph(words: str) -> str:
    return f"<p>{escape(words)}</p>"
