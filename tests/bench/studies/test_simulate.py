"""The simulation: what it counts, and that it can be taken up again."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from bench.studies import simulate, virtual
from bench.studies.simulate import Row, Setting
from models.curves import published

FEW = Setting(tokens=300, seeds=2)


def test_runs_are_the_tokens_that_stand_from_there_on() -> None:
    words = virtual.text(random.Random(0), 50, (0.6,), 1.0, 4)
    for here, after in zip(words.runs, words.runs[1:], strict=False):
        assert here in (0, after + 1)


def test_a_fixed_k_takes_as_many_rounds_as_its_tokens_need() -> None:
    words = virtual.Text([9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0, 0], [True] * 13)
    assert virtual.fixed_rounds(words, 10, 4) == (2.0, 0)
    assert virtual.fixed_rounds(words, 10, 1) == (5.0, 0)


def test_steps_without_a_proposal_give_one_token() -> None:
    words = virtual.Text([9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0, 0], [False, False] + [True] * 11)
    assert virtual.fixed_rounds(words, 10, 7) == (1.0, 2.0)


def test_without_noise_time_goes_by_the_table() -> None:
    on = virtual.machine({1: 1.0, 8: 1.7}, 0.1, 7, noise=False, drift="none")
    assert on.costs[2] == pytest.approx(1.2 + 0.2 + virtual.OVERHEAD)
    slowness = on.slowness(random.Random(0))
    assert [next(slowness) for _ in range(3)] == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("drift", ["slow", "jumps"])
def test_a_drift_stays_within_its_range(drift: virtual.Drift) -> None:
    slowness = virtual.machine({1: 1.0}, 0.0, 1, False, drift).slowness(random.Random(0))
    levels = [next(slowness) for _ in range(3000)]
    assert 2 < max(levels) / min(levels) <= virtual.DRIFT


def test_goals_are_looser_where_the_text_changes() -> None:
    row = Row("flat", "0.5", 0.0, 1, 1.5, 1.43, 1.2, 0.95, 0.95)
    assert not row.met
    assert Row(**{**row.__dict__, "acceptance": "0.95/0.1"}).met
    assert not Row(**{**row.__dict__, "acceptance": "0.95/0.1", "worst": 0.97}).met


def test_the_table_is_taken_up_where_it_was_left_and_written_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulate, "HAZARDS", {"0.7": (0.7,)})
    kept, out = tmp_path / "kept.jsonl", tmp_path / "out.csv"
    rows = simulate.cells(FEW, "flat", "0.7")
    simulate.keep(kept, FEW, rows)
    arguments = ["--curve", "flat", "--seeds", "2", "--tokens", "300"]
    assert simulate.run([*arguments, "--kept", str(kept), "--out", str(out)]) == 0
    assert len(out.read_text().splitlines()) == 1 + len(simulate.DRAFT_COSTS)
    assert "5 cells" in capsys.readouterr().out
    assert simulate.read(kept, Setting()) == []


def test_one_cell_of_each_kind_meets_its_goals() -> None:
    rows = simulate.cells(Setting(tokens=1000, seeds=2), "m4pro-4bit", "0.95/0.1")
    assert all(row.met for row in rows)
    assert [row.c for row in rows if row.best_k == 0] == [0.3, 1.3] or rows[-1].best_k == 0


def test_every_published_curve_starts_at_one_row_and_names_its_source() -> None:
    for curve in published().values():
        assert curve.rows[1] == 1
        assert curve.source
