"""The timeline drawn: parked stretches, answers, sources and intervals by their marks, at any size."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.cells import cell_len
from textual.app import App

from app.speculation.timeline import Timeline
from app.thread.events import Snapshot
from app.tui.speculation.timeline import TimelineScreen, k_plot, lines, marks, speedup_plot
from mlx_spec.events import Round
from mlx_spec.verdict.diagnose import Verdict

SNAPSHOT = Snapshot(0, None, None, None, None, 0, 0, "speculating", "lookup")
PARKED = replace(SNAPSHOT, state="parked")


def at(value: float, low: float, high: float) -> Snapshot:
    facts = {"speedup": {"value": value, "low": low, "high": high}}
    return replace(SNAPSHOT, verdict=Verdict("paying", None, "It pays.", facts))


def session() -> Timeline:
    made = Timeline()
    made.begin()
    for k in (2, 4, 4):
        made.add(Round(k=k), at(1.5, 1.1, 2.0))
    for _ in range(2):
        made.add(Round(k=0), PARKED)
    made.begin()
    made.add(Round(k=0), SNAPSHOT)
    made.add(Round(k=4), replace(at(0.8, 0.7, 0.9), source="model"))
    return made


def test_bars_say_k_and_marks_say_what_rests() -> None:
    columns = session().columns(20)
    assert [text.plain for text in k_plot(columns, 2)] == ["   4 ▏ ██   █", "   0 ▏███‖‖·█"]
    assert marks(columns).plain == "     ▏┊    ┊⇄"


def test_the_speedup_stands_in_its_interval_with_one_as_a_line() -> None:
    rows = [text.plain for text in speedup_plot(session().columns(20), 7)]
    assert rows[0].startswith("2.00x▏│││")
    assert sum(row.count("●") for row in rows) == 4
    one = next(row for row in rows if row.startswith("1.00x"))
    assert "─" in one
    assert rows[-1].startswith("0.70x▏")
    below = rows[rows.index(one) + 1 :]
    assert any(row.endswith("●") for row in below), "a loss lies below the line of 1x"


def test_what_was_not_measured_is_said() -> None:
    made = Timeline()
    made.add(Round(k=3), SNAPSHOT)
    assert not speedup_plot(made.columns(10), 5)
    assert [text.plain for text in lines(made, 60, 20)][-1] == "Speedup with lookup: not measured yet"


def test_a_session_without_drafts_has_no_empty_axes() -> None:
    made = Timeline()
    for now in (PARKED, PARKED, SNAPSHOT):
        made.add(Round(k=0), now)
    assert [text.plain for text in lines(made, 60, 20)] == [
        "K: 3 plain steps, 2 parked or off",
        "   0 ▏‖‖·",
        "     ▏   ",
        "Speedup with lookup: not measured yet",
    ]


@pytest.mark.parametrize("width", [20, 37, 76, 156])
@pytest.mark.parametrize("rounds", [1, 30, 5000])
def test_every_line_fits(width: int, rounds: int) -> None:
    made = Timeline()
    for i in range(rounds):
        made.add(Round(k=i % 17), at(1.0 + i % 3, 0.001, 90.0))
    texts = list(lines(made, width, 12))
    assert len(texts) <= 13
    assert all(cell_len(text.plain) <= width for text in texts[1:] if "Speedup" not in text.plain)


@pytest.mark.parametrize("size", [(20, 8), (80, 24), (160, 50)])
async def test_the_screen_draws_follows_zooms_and_closes(size: tuple[int, int]) -> None:
    app: App[None] = App()
    made = session()
    async with app.run_test(size=size) as pilot:

        def shown() -> str:
            return "\n".join(strip.text for strip in app.screen._compositor.render_strips())

        await app.push_screen(TimelineScreen(made))
        await pilot.pause(0.1)
        assert "‖" in shown()
        assert ("an answer begins" in shown()) == (size[1] > 20)
        made.add(Round(k=4), SNAPSHOT)
        await pilot.pause(0.7)
        assert "K: 8 rounds" in shown()
        for _ in range(100):
            made.add(Round(k=4), SNAPSHOT)
        await pilot.press("plus", "plus")
        await pilot.pause(0.1)
        assert "latest 27 of" in shown()
        await pilot.press("0", "minus")
        await pilot.pause(0.1)
        assert "K: 108 rounds" in shown()
        await pilot.press("escape")
        assert "K: " not in shown()


async def test_an_empty_session_says_so() -> None:
    app: App[None] = App()
    async with app.run_test() as pilot:
        await app.push_screen(TimelineScreen(Timeline()))
        await pilot.pause(0.1)
        assert "No rounds yet" in "\n".join(s.text for s in app.screen._compositor.render_strips())
