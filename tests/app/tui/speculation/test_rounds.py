"""The inspector, as a person uses it: keys and mouse, at 80x24 and narrow."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from rich.cells import cell_len
from textual.app import App
from textual.pilot import Pilot

from app.speculation.rounds import RoundLog
from app.tui.speculation.round import body, glyph
from app.tui.speculation.rounds import Rounds, Strip
from mlx_spec.events import Details, Drafted, Round, Token

OVER = Token(7, " over", 0.812)
DETAILS = Details(
    (
        Drafted(5, " fox", 0.93, 0.88, Token(5, " fox", 0.93)),
        Drafted(6, " 日本語のとても長いトークン", 0.04, 0.51, OVER),
        Drafted(9, "\x1b[2J", 0.3, 1.0, Token(8, " the", 0.9)),
    ),
    OVER,
    OVER,
    "softmax",
)
SPECULATIVE = Round([5, 7], [], [("draft:lookup", " fox"), ("target", " over")], 3, 1, None, DETAILS)
ALL = replace(SPECULATIVE, accepted=3)
PLAIN = Round([1], ["plain"], [("plain", " [b]plain[/b]")])


def log() -> RoundLog:
    made = RoundLog()
    made.begin()
    for each in (PLAIN, PLAIN, SPECULATIVE, ALL, ALL):
        made.add(each)
    return made


class Driver:
    def __init__(self, app: App[None], pilot: Pilot[None]) -> None:
        self._app, self.pilot = app, pilot

    @property
    def screen(self) -> str:
        return "\n".join(strip.text for strip in self._app.screen._compositor.render_strips())

    @property
    def inspector(self) -> Rounds:
        assert isinstance(self._app.screen, Rounds)
        return self._app.screen


@asynccontextmanager
async def inspecting(rounds: RoundLog, size: tuple[int, int] = (80, 24)) -> AsyncIterator[Driver]:
    app: App[None] = App()
    async with app.run_test(size=size) as pilot:
        await app.push_screen(Rounds(rounds))
        await pilot.pause(0.05)
        yield Driver(app, pilot)


async def test_it_opens_at_the_last_round_and_steps_back_by_keys() -> None:
    async with inspecting(log()) as driver:
        assert "Answer 1, round 5: 3 drafted, 3 accepted, then the bonus  (4 of 4)" in driver.screen
        await driver.pilot.press("left", "left")
        assert "round 3: 3 drafted, 1 accepted, then a correction" in driver.screen
        for part in (
            "✓ “ fox”",
            "0.930",
            "✗ “ 日本語",
            "0.812   “ over”",
            "· “␛[2J”",
            "▸ “ over”",
            "temperature 1",
        ):
            assert part in driver.screen
        await driver.pilot.press("home")
        assert "steps 1 to 2: plain" in driver.screen
        assert "[b]plain[/b]" in driver.screen
        await driver.pilot.press("r")
        assert "then a correction" in driver.screen


async def test_it_can_open_at_any_round() -> None:
    app: App[None] = App()
    async with app.run_test() as pilot:
        await app.push_screen(Rounds(log(), at=1))
        await pilot.pause(0.05)
        assert "(2 of 4)" in Driver(app, pilot).screen


async def test_the_mouse_picks_a_round_by_pointing_at_it() -> None:
    async with inspecting(log()) as driver:
        await driver.pilot.hover(Strip, offset=(1, 0))
        await driver.pilot.pause()
        assert "then a correction  (2 of 4)" in driver.screen
        await driver.pilot.click(Strip, offset=(2, 0))
        await driver.pilot.pause()
        assert "(3 of 4)" in driver.screen


async def test_a_round_that_comes_is_followed_from_the_end_alone() -> None:
    rounds = log()
    async with inspecting(rounds) as driver:
        rounds.add(SPECULATIVE)
        await driver.pilot.pause(0.5)
        assert "(5 of 5)" in driver.screen
        await driver.pilot.press("left")
        rounds.add(SPECULATIVE)
        await driver.pilot.pause(0.5)
        assert "(4 of 6)" in driver.screen


async def test_without_rounds_it_says_so_and_closes() -> None:
    async with inspecting(RoundLog()) as driver:
        assert "No rounds yet" in driver.screen
        await driver.pilot.press("left", "right", "r", "end")
        assert isinstance(driver.inspector, Rounds)
        await driver.pilot.press("escape")
        assert "No rounds yet" not in driver.screen


@pytest.mark.parametrize("size", [(20, 8), (40, 12), (80, 24), (160, 50)])
async def test_it_works_at_any_size(size: tuple[int, int]) -> None:
    async with inspecting(log(), size) as driver:
        await driver.pilot.press("left", "left")
        wanted = ("1.3: 1 of 3", " fox") if size[0] < 40 else ("Answer 1, round 3: 3 drafted", "✓ “ fox”")
        assert all(part in driver.screen for part in wanted)
        await driver.pilot.press("down", "down", "up")


@pytest.mark.parametrize("width", [56, 76, 120])
def test_the_table_keeps_to_its_width(width: int) -> None:
    entry = log().entries[1]
    lines = [text.plain for text in body(entry, width)]
    table = [line for line in lines if line[:1] in "✓✗·▸" and "“" in line]
    assert len(table) == 4
    assert all(cell_len(line) <= width for line in table)


def test_the_strip_tells_rounds_apart_without_colour() -> None:
    assert "".join(map(glyph, log().entries)) == "─1++"
