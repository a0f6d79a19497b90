"""The verdict on the screen: banner, status line and panel, at any size and without colour."""

from __future__ import annotations

from dataclasses import replace

import pytest
from driver import chat
from screenplay import PARKED, PAYING, Scripted, rounds
from textual.widgets import Static

from app.tui.speculation.panel import Insight, Panel
from app.tui.speculation.verdict import Banner
from mlx_spec.errors import SpecError
from mlx_spec.metrics import Metrics
from mlx_spec.verdict.diagnose import Verdict


def judged(verdict: Verdict | None, *answers: object) -> Scripted:
    assistant = Scripted(list(answers))  # type: ignore[arg-type]
    assistant.metrics = Metrics(state="parked", verdict=verdict)
    return assistant


async def test_a_parked_verdict_stands_in_words_and_symbol_before_the_first_question() -> None:
    async with chat(judged(PARKED)) as driver:
        await driver.see(
            "‖ parked: verification",
            "‖ Verification is serialized: 5 rows cost 4.5x one row.",
        )
        assert driver.screen.count("Verification is serialized") == 1


async def test_without_colour_it_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with chat(judged(PARKED)) as driver:
        await driver.see("‖ parked: verification", "‖ Verification is serialized")


async def test_a_pair_that_pays_has_no_banner() -> None:
    async with chat(judged(PAYING)) as driver:
        await driver.see("▴ pays 1.80x")
        assert not driver.app.query_one(Banner).display


async def test_what_the_user_chose_has_no_banner() -> None:
    async with chat(judged(Verdict("off", "user", "K was set to 0.", {}))) as driver:
        await driver.see("∅ off")
        assert not driver.app.query_one(Banner).display


async def test_a_source_that_waits_for_a_text_that_repeats_has_no_banner_and_is_explained_below() -> None:
    facts = {**PARKED.facts, "tested": False}
    waiting = Verdict("parked", "acceptance", "No draft has been tested on this text yet.", facts)
    async with chat(judged(waiting)) as driver:
        await driver.see("‖ parked: acceptance", "No draft has been tested on this text yet.")
        assert not driver.app.query_one(Banner).display


async def test_a_wide_terminal_shows_the_panel_and_f3_hides_it() -> None:
    async with chat(judged(PARKED), size=(140, 40)) as driver:
        await driver.see("V(M): cost of M rows", "predicted 0.50x", "●")
        await driver.pilot.press("f3")
        assert "V(M)" not in driver.screen
        await driver.pilot.press("f3")
        await driver.see("V(M): cost of M rows")


async def test_at_80_columns_f3_shows_the_panel_beside_the_chat() -> None:
    async with chat(judged(PARKED, rounds("An answer."))) as driver:
        assert not driver.app.query_one(Panel).display
        await driver.ask("Why?")
        await driver.see("An answer.")
        await driver.pilot.press("f3")
        await driver.see("V(M): cost of M rows", "An answer.", "○ ready")


async def test_where_panel_and_chat_could_not_be_read_f3_says_so() -> None:
    async with chat(judged(PARKED), size=(59, 24)) as driver:
        await driver.pilot.press("f3")
        await driver.see("The panel needs 60")
        assert not driver.app.query_one(Panel).display
        await driver.pilot.resize_terminal(60, 24)
        await driver.pilot.press("f3")
        await driver.until(lambda: driver.app.query_one(Panel).display)
        await driver.pilot.resize_terminal(20, 8)
        await driver.until(lambda: not driver.app.query_one(Panel).display)


async def test_a_terminal_that_becomes_wide_shows_the_panel() -> None:
    async with chat(judged(PARKED)) as driver:
        assert not driver.app.query_one(Panel).display
        await driver.pilot.resize_terminal(130, 40)
        await driver.see("V(M): cost of M rows")
        await driver.pilot.resize_terminal(80, 24)
        await driver.until(lambda: not driver.app.query_one(Panel).display)


async def test_an_error_is_seen_beside_the_verdict() -> None:
    async with chat(judged(PARKED, SpecError("The disk is full.", "Free some."))) as driver:
        await driver.ask("Hello?")
        await driver.see("▲ error", "▲ The disk is full.", "‖ Verification is serialized")


async def test_what_idle_time_measured_comes_to_the_screen() -> None:
    assistant = judged(None)
    assistant.calls, assistant.found = 3, PARKED
    async with chat(assistant) as driver:
        await driver.see("‖ parked: verification")
    assert assistant.calls == 0


async def test_measurements_that_cannot_be_kept_are_said() -> None:
    assistant = judged(None)
    assistant.calls, assistant.unkept = 1, "The folder is read-only."
    async with chat(assistant) as driver:
        await driver.see("! The folder is read-only.")


async def test_a_tiny_terminal_keeps_the_status_line() -> None:
    async with chat(judged(PARKED), size=(40, 10)) as driver:
        await driver.see("○ ready  ‖ parked")
        assert not driver.app.query_one(Banner).display


async def test_the_panel_is_drawn_at_times_and_lays_the_screen_out_only_where_its_height_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with chat(judged(PARKED), size=(140, 40)) as driver:
        await driver.see("K now 0")
        panel, now = driver.app.query_one(Panel), driver.app.stage.facts.snapshot
        assert now is not None
        updates: list[bool] = []
        monkeypatch.setattr(Static, "update", lambda _, text, layout: updates.append(layout))
        for k in range(1, 6):
            panel.show(Insight(replace(now, k=k), driver.app.desk.reports.timeline))
        assert updates == []
        await driver.until(lambda: bool(updates))
        assert updates == [False]


async def test_after_an_answer_the_banner_is_one_line_that_says_where_more_is() -> None:
    async with chat(judged(PARKED, rounds("An answer."))) as driver:
        await driver.see("‖ Verification is serialized: 5 rows cost 4.5x one row.")
        await driver.ask("Why?")
        await driver.see("An answer.", "○ ready", "‖ Verification is serialized. F8 says more.")
        assert driver.app.query_one(Banner).size.height == 1


async def test_what_f8_says_in_full_the_banner_does_not_repeat() -> None:
    async with chat(judged(Verdict("parked", "verification", PARKED.sentence, {}))) as driver:
        await driver.see("‖ Verification is serialized: 5 rows cost 4.5x one row.")
        await driver.pilot.press("f8")
        await driver.see(
            "· Verification is serialized: 5 rows", "‖ Verification is serialized. F8 says more."
        )


async def test_lines_of_a_sentence_stand_below_each_other() -> None:
    long = Verdict("parked", "verification", "It is parked. " + "word " * 30, {})
    async with chat(judged(long)) as driver:
        await driver.see("‖ It is parked.")
        lines = driver.screen.splitlines()
        at = next(i for i, line in enumerate(lines) if "‖ It is parked." in line)
        assert lines[at].startswith("  ‖ It")
        assert lines[at + 1].startswith("    word")
        await driver.pilot.press("f8")
        await driver.see("· It is parked.")
        lines = driver.screen.splitlines()
        at = next(i for i, line in enumerate(lines) if "· It is parked." in line)
        assert lines[at].startswith("  · It")
        assert lines[at + 1].startswith("    word")
