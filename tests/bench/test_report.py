"""The same findings on a terminal, in Markdown, as a spreadsheet and as JSON; two sweeps compared."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from timed import design, record

from bench import compare
from bench.design import Way
from bench.findings import find
from bench.record import Record
from bench.report import files, markdown, page, results, sheet, terminal
from mlx_spec.errors import SpecError

GAIN = {"loop": 0.9, "lookup K=1": 1.2, "lookup K=2": 1.5, "lookup auto": 1.45}


@pytest.fixture(scope="module")
def source() -> Record:
    return record(GAIN, design(prompts=8))


def test_the_terminal_has_a_table_a_plot_and_sentences(source: Record) -> None:
    findings = find(source)
    assert findings
    text = terminal.report(source, findings)
    lines = text.splitlines()
    assert lines[0] == "Tiny (float32): 8 prompts, 8 blocks, at most 20 tokens"
    assert lines[2].split()[:3] == ["way", "tok/s", "speedup"]
    assert "lookup K=2 is the fastest." in lines
    assert max(map(len, lines[:10])) <= 100


def test_the_plot_has_a_line_at_one_and_the_faster_to_the_right(source: Record) -> None:
    findings = find(source)
    assert findings
    scale, *bars = terminal.plot(findings)
    dots = {bar.split("  ")[0].strip(): bar.index("●") for bar in bars}
    assert dots["loop"] < dots["plain"] < dots["lookup K=1"] < dots["lookup K=2"]
    assert scale[dots["plain"]] == "1"
    assert next(bar for bar in bars if bar.startswith("lookup K=2"))[dots["plain"]] == "│"


def test_a_record_survives_its_file(source: Record, tmp_path: Path) -> None:
    written = files.write(tmp_path, source, find(source))
    assert [file.name for file in written] == ["results.json", "samples.csv", "report.md", "report.html"]
    assert not list(tmp_path.glob("*.part"))
    again = results.read(tmp_path)
    assert again == source
    assert find(again) == find(source)


def test_results_have_the_conclusions_and_no_infinity(tmp_path: Path) -> None:
    few = record(GAIN, design(prompts=3))
    files.write(tmp_path, few, find(few))
    data = json.loads((tmp_path / results.FILE).read_text(), parse_constant=pytest.fail)
    assert data["findings"]["ways"]["lookup K=2"]["speedup"]["low"] is None
    assert data["findings"]["recommended"] == "plain"
    assert data["findings"]["conclusions"]
    assert len(data["samples"]) == 3 * 6


def test_without_a_complete_block_the_samples_are_kept_all_the_same(tmp_path: Path) -> None:
    begun = record(GAIN)
    begun.samples = begun.samples[:2]
    written = files.write(tmp_path, begun, find(begun))
    assert [file.name for file in written] == ["results.json", "samples.csv"]
    with pytest.raises(SpecError, match="no complete block"):
        results.known(results.read(tmp_path), "it")


@pytest.mark.parametrize("text", ["", "[]", '{"format": 9}', '{"format": 1}', "{" * 9])
def test_what_is_no_result_is_a_sentence(text: str, tmp_path: Path) -> None:
    file = tmp_path / results.FILE
    file.write_text(text)
    with pytest.raises(SpecError):
        results.read(tmp_path)


def test_the_spreadsheet_has_a_line_for_each_run_and_no_formula() -> None:
    plan = design()
    plan.prompts[0] = ("=1+1", "chat", True)
    rows = list(csv.DictReader(io.StringIO(sheet.report(record(GAIN, plan)))))
    assert len(rows) == 30
    assert rows[0]["way"] == "plain"
    assert "'=1+1" in {row["prompt"] for row in rows}
    assert all(float(row["seconds"]) > 0 for row in rows)


def test_names_are_never_markup() -> None:
    plan = design()
    plan.model["name"] = "<b>|*bold*</b>"
    source = record(GAIN, plan)
    findings = find(source)
    assert findings
    head = markdown.report(source, findings).splitlines()[0]
    assert head.startswith(r"# \<b\>\|\*bold\*\</b\> (float32)")
    html = page.report(source, findings)
    assert "<b>" not in html
    assert "&lt;b&gt;|*bold*" in html


def test_a_page_says_what_was_not_measured() -> None:
    source = record({}, design([Way("plain"), Way("loop", None, None)]))
    source.splits.clear()
    findings = find(source)
    assert findings
    html = page.report(source, findings)
    for said in ("nothing was drafted", "Time of a round: not measured", "Cost of verifying: not measured"):
        assert said in html


def test_peers_have_a_plot_of_their_own() -> None:
    ways = [Way("mlx-lm", None, 0, "mlx-lm"), Way("specchat", None, 0)]
    source = record({"specchat": 1.1}, design(ways, bench="peers"))
    findings = find(source)
    assert findings
    html = page.report(source, findings)
    assert "Speed over mlx-lm" in html
    assert "specchat over mlx-lm: 1.1" in html


def test_two_sweeps_are_compared_by_their_speedups_and_not_their_speeds() -> None:
    before = record(GAIN, design(prompts=8))
    after = record({**GAIN, "lookup K=2": 1.8}, design(prompts=8), seed=1)
    for i, sample in enumerate(after.samples):
        after.samples[i] = replace(sample, arrivals=[3 * at for at in sample.arrivals])
    changes = {change.way: change for change in compare.compare(before, after)}
    better = changes["lookup K=2"].change
    assert better
    assert better.low < 1.2 < better.high
    assert better.low > 1.1
    same = changes["lookup K=1"].change
    assert same
    assert same.low < 1 < same.high
    assert changes["plain"].change is None
    assert changes["plain"].before > 2.5 * changes["plain"].after
    assert compare.differences(before, after) == []


def test_what_else_differs_between_two_sweeps_is_said() -> None:
    other = record(GAIN, design(prompts=8, tokens=40))
    other.environment["versions"] = {"mlx": "9"}
    said = compare.differences(record(GAIN, design(prompts=8)), other)
    assert said[0].startswith("The second sweep has tokens 40 and not 20")
    assert said[1] == "Not the same: package versions."


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("environment",), None),
        (("conditions",), [5]),
        (("samples", 3, "way"), "ghost"),
        (("samples", 3, "prompt"), "ghost"),
        (("samples", 3, "block"), "x"),
        (("samples", 3, "arrivals"), "abc"),
        (("samples", 3, "arrivals", 1), 1e308),
        (("samples", 3, "emitted", 1), 10**400),
        (("samples", 3, "counts", "rounds"), "x"),
        (("samples", 3, "counts", "tested_at"), [1, 2, 3, 4, 5]),
    ],
)
def test_a_damaged_result_is_a_sentence(place: tuple[Any, ...], value: Any, tmp_path: Path) -> None:
    source = record(GAIN)
    data = json.loads(json.dumps(results.as_json(source, find(source))))
    *way, last = place
    at = data
    for step in way:
        at = at[step]
    at[last] = value
    file = tmp_path / results.FILE
    file.write_text(json.dumps(data))
    with pytest.raises(SpecError, match="holds no results of a sweep"):
        results.read(file)
