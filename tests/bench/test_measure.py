"""Runs timed by a clock that only the scripts move."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest
from timed import Clock, Script, tasks

from bench.design import Turn
from bench.measure import MOST_WARM_UPS, Bench, NotAlone


def bench(clock: Clock, *scripts: Script, stopped: bool = False) -> Bench:
    return Bench({script.name: script for script in scripts}, clock=clock, stopped=lambda: stopped)


def test_reading_the_prompt_and_the_first_step_are_not_timed_as_decoding() -> None:
    clock = Clock()
    (task,) = tasks(1, tokens=21)
    sample = bench(clock, Script(clock, 0.5, name="a")).run(Turn(3, 2, "a", 0), task, session=1)
    assert sample is not None
    assert (sample.ttft_s, sample.tokens, sample.seconds) == (1.5, 20, 10.0)
    assert (sample.block, sample.place, sample.prompt, sample.session) == (3, 2, "p0", 1)


def test_bursts_count_as_tokens_and_as_one_gap() -> None:
    clock = Clock()
    (task,) = tasks(1, tokens=20)
    sample = bench(clock, Script(clock, 1.0, tokens=4, name="a")).run(Turn(0, 0, "a", 0), task, session=0)
    assert sample is not None
    assert (sample.tokens, sample.gaps) == (16, [1.0] * 4)


def test_what_the_last_answer_left_is_forgotten_before_the_next_one() -> None:
    clock = Clock()
    script = Script(clock, name="a")
    (task,) = tasks(1)
    for _ in range(2):
        bench(clock, script).run(Turn(0, 0, "a", 0), task, session=0)
    assert script.heard == ["forget", "a", "forget", "a"]


def test_a_stopped_run_is_no_sample() -> None:
    clock = Clock()
    (task,) = tasks(1)
    assert bench(clock, Script(clock, name="a"), stopped=True).run(Turn(0, 0, "a", 0), task, 0) is None


def test_nothing_is_timed_beside_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "textual", ModuleType("textual"))
    clock = Clock()
    (task,) = tasks(1)
    with pytest.raises(NotAlone):
        bench(clock, Script(clock, name="a")).run(Turn(0, 0, "a", 0), task, session=0)


def test_warming_up_goes_on_until_the_speed_settles_and_runs_every_way() -> None:
    clock = Clock()
    heard: list[str] = []
    script = Script(clock, heard=heard, name="plain")
    paces = [4.0, 2.0, 1.0, 1.0]
    script.before = lambda: setattr(clock, "pace", paces[heard.count("plain") - 1])
    runs = bench(clock, script, Script(clock, heard=heard, name="other"))
    (task,) = tasks(1)
    pace = runs.warm_up("plain", task)
    assert pace is not None
    assert pace.stable
    assert pace.token == pytest.approx(0.1)
    assert [name for name in heard if name != "forget"] == ["plain"] * 4 + ["other"]


def test_a_speed_that_never_settles_is_said_to_be_so() -> None:
    clock = Clock()
    script = Script(clock, name="plain", before=lambda: setattr(clock, "pace", clock.pace * 1.05))
    (task,) = tasks(1)
    pace = bench(clock, script).warm_up("plain", task)
    assert pace is not None
    assert not pace.stable
    assert script.heard.count("plain") == MOST_WARM_UPS
