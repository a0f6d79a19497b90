"""What was measured, in characters: every number as text, every limit drawn, nothing by colour alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from rich.cells import cell_len
from screenplay import FACTS, PARKED, PAYING

from app.speculation.timeline import Timeline
from app.thread.events import Snapshot
from app.tui.speculation import plot
from app.tui.speculation.panel import WIDTH, Insight, lines
from app.tui.speculation.verdict import loud, quiet, tags
from app.tui.status import Facts, State, line
from mlx_spec.events import Round
from mlx_spec.verdict.diagnose import Verdict

KINDS = [
    Verdict("measuring", None, "Measuring.", {}),
    PAYING,
    PARKED,
    Verdict("slower", "draft", "K=4 runs at 0.51x.", FACTS),
    Verdict("off", "user", "K was set to 0.", {}),
]


def snapshot(verdict: Verdict | None = PARKED, **changes: Any) -> Snapshot:
    facts = {"hazards": (0.81, 0.5, None), "tested": (40, 32, 0), **changes}
    state = facts.pop("state", "parked")
    return Snapshot(0, 9.6, 0.7, 2.4, 0.4, 300, 64, state, "self", verdict=verdict, **facts)


def shown(now: Snapshot, timeline: Timeline, height: int = 40) -> list[str]:
    return [text.plain for text in lines(Insight(now, timeline), WIDTH - 5, height)]


def course(*ks: int) -> Timeline:
    made = Timeline()
    made.begin()
    for k in ks:
        made.add(Round(k=k), snapshot(state="speculating" if k else "parked"))
    return made


def test_the_panel_has_every_number() -> None:
    text = "\n".join(shown(snapshot(), course(4, 4, 3, 0, 0)))
    assert "‖ parked: verification" in text
    assert "speedup   0.51x  [0.48, 0.55] (95%)" in text
    assert "predicted 0.50x" in text
    assert "serial index 0.88" in text
    assert "  1 █████████████░░░  81% of 40" in text
    assert "  3 ░░░░░░░░░░░░░░░░ - of 0" in text
    assert "K now 0, parked" in text
    assert "K: 5 rounds, 2 parked or off" in text
    assert "███‖‖" in text
    assert "Speedup with self: 0.51x [0.48, 0.55]" in text


def test_17_lines_of_a_small_terminal_hold_everything_that_counts() -> None:
    text = shown(snapshot(), course(4), height=17)
    assert len(text) <= 17
    for part in ("‖ parked", "predicted", "V(M)", "  3 ░", "now 0"):
        assert any(part in line for line in text)


def test_an_expected_kernel_is_told_where_it_is_known() -> None:
    kernel = (
        "M2, MLX 0.32.4, affine 4-bit: qmv a row is expected, which reads the weights 5 times for 5 rows."
    )
    assert kernel in shown(replace(snapshot(), kernel=kernel), Timeline())


def test_what_is_not_known_is_said() -> None:
    text = "\n".join(shown(snapshot(None, hazards=(), tested=()), Timeline()))
    assert "speedup   -" in text
    assert "not measured yet" in text
    assert "nothing was drafted yet" in text


@pytest.mark.parametrize("verdict", [None, *KINDS])
def test_every_line_fits_the_panel_at_80_columns(verdict: Verdict | None) -> None:
    made = course(*(k % 12 for k in range(200)))
    assert all(cell_len(text) <= WIDTH - 5 for text in shown(snapshot(verdict), made))


def test_the_curve_lies_between_its_limits() -> None:
    costs = {1: 1.0, 2: 1.3, 4: 1.5, 8: 4.5}
    *rows, axis, numbers = plot.cost_curve(costs, height=8)
    assert rows[0].startswith("  8x │")
    assert rows[-1].startswith("  1x │")
    # The serial limit rises to the top at M=8, the flat one stays at the bottom.
    assert rows[0].rstrip().endswith(plot.SERIAL)
    assert plot.FLAT in rows[-1]
    assert sum(row.count(plot.MEASURED) for row in rows) == len(costs)
    assert numbers.split() == ["M", *map(str, range(1, 9))]
    assert "└" in axis


def test_a_serialized_curve_covers_the_serial_limit_and_a_worse_one_lies_above() -> None:
    serial = plot.cost_curve({m: float(m) for m in range(1, 10)}, height=8)
    assert plot.SERIAL not in "".join(serial)
    worse = plot.cost_curve({1: 1.0, 4: 11.0}, height=8)
    assert worse[0].startswith(" 11x │")
    assert plot.MEASURED in worse[0]


def test_without_measurements_there_is_no_curve() -> None:
    assert plot.cost_curve({}, height=8) == []


def test_each_kind_has_its_own_symbol_and_words() -> None:
    said = [tags(verdict)[0] for verdict in KINDS]
    assert said == [
        "◔ measuring",
        "▴ pays 1.80x",
        "‖ parked: verification",
        "▾ slower 0.51x",
        "∅ off",
    ]


@pytest.mark.parametrize(
    ("kind", "now", "words"),
    [
        ("measuring", "parked", "◔ measuring, parked now"),
        ("paying", "parked", "▴ pays 0.51x, parked now"),
        ("parked", "measuring", "‖ parked: verification, tried again"),
        ("parked", "parked", "‖ parked: verification"),
        ("measuring", "measuring", "◔ measuring"),
    ],
)
def test_what_the_controller_does_now_is_a_part_of_the_words(kind: Any, now: Any, words: str) -> None:
    cause = PARKED.cause if kind == "parked" else None
    assert tags(Verdict(kind, cause, "Why.", FACTS, now))[0] == words


def test_the_panel_says_of_nobody_who_drafts_that_it_is_parked() -> None:
    told = shown(replace(snapshot(replace(PARKED, now="parked")), k=5), Timeline())
    assert told[0] == "‖ parked: verification, tried again"
    assert "K now 5, measuring" in told


@pytest.mark.parametrize("verdict", KINDS)
def test_the_sentence_stands_in_one_place(verdict: Verdict) -> None:
    assert loud(verdict) == (verdict.kind in ("parked", "slower"))
    assert quiet(verdict) == ("" if loud(verdict) else verdict.sentence)


def test_the_status_line_says_state_and_verdict_before_any_number() -> None:
    facts = Facts(State.GENERATING, snapshot(), 8192)
    assert line(facts, 110).plain.startswith("● generating  ‖ parked: verification   K 0")
    assert line(facts, 76).plain == (
        "● generating  ‖ parked  K 0  9.6 tok/s  rate 70%  len 2.40  ctx 300/8192"
    )


@pytest.mark.parametrize("verdict", KINDS)
@pytest.mark.parametrize("width", [10, 30, 56, 76, 116])
def test_the_status_line_fits_with_any_verdict(verdict: Verdict, width: int) -> None:
    assert cell_len(line(Facts(State.READING, snapshot(verdict), 131072), width).plain) <= width


def test_a_plot_too_low_to_tell_costs_apart_has_their_numbers() -> None:
    text = "\n".join(shown(snapshot(), course(4), height=17)).replace("\N{NO-BREAK SPACE}", " ")
    assert "2: 1.9x  3: 2.8x  5: 4.5x  9: 8.6x" in text


def test_lines_that_are_free_are_used() -> None:
    heights = [len(shown(snapshot(), course(4), height)) for height in (17, 24, 29, 40)]
    assert heights == sorted(set(heights))
    plots = [sum("│" in text for text in shown(snapshot(), Timeline(), height)) for height in (17, 29)]
    assert plots == [4, 8]


def test_a_speedup_that_was_never_tried_for_is_said_to_be_unmeasured() -> None:
    facts = {**FACTS, "speedup": None}
    assert "speedup   not measured" in shown(snapshot(replace(PARKED, facts=facts)), Timeline())
