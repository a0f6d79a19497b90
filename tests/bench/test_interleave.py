"""How ways of decoding take turns, on a scripted clock."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from bench.interleave import Step, Turns, Way, interleave


class Clock:
    """A clock that scripted steps move, at a pace that drifts."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pace = 1.0

    def __call__(self) -> float:
        return self.now


def script(clock: Clock, seconds: float, steps: int, tokens: int = 1, heard: list[str] | None = None) -> Way:
    """A way whose every step takes `seconds` at the clock's pace and brings `tokens` tokens."""

    def decode(prompt: list[int]) -> Iterator[Step]:
        for i in range(steps):
            clock.now += seconds * clock.pace
            if heard is not None:
                heard.append(f"{seconds}")
            yield Step(tokens, [prompt[0] + i] * tokens, drafted=tokens - 1, accepted=tokens - 1)

    return decode


def turns(clock: Clock, seed: int = 0, tokens: int = 4) -> Turns:
    return Turns(tokens, random.Random(seed), clock=clock)


def test_every_way_answers_in_full() -> None:
    clock = Clock()
    runs = turns(clock).answer({"a": script(clock, 1, 20), "b": script(clock, 2, 13)}, [100])
    assert runs["a"].answer == list(range(100, 120))
    assert runs["b"].answer == list(range(100, 113))


def test_reading_the_prompt_and_the_step_after_a_pause_are_not_timed() -> None:
    clock = Clock()
    runs = turns(clock).answer({"a": script(clock, 1, 11)}, [1])
    assert (runs["a"].timing.tokens, runs["a"].timing.seconds) == (8, 8.0)


def test_only_turns_that_every_way_had_are_timed() -> None:
    clock = Clock()
    runs = turns(clock).answer({"long": script(clock, 1, 100), "short": script(clock, 1, 11)}, [1])
    assert runs["long"].timing == runs["short"].timing


def test_steps_of_several_tokens_count_as_tokens_and_as_rounds() -> None:
    clock = Clock()
    run = turns(clock).answer({"a": script(clock, 1, 7, tokens=4)}, [1])["a"]
    assert (run.timing.tokens, run.timing.seconds) == (12, 3.0)
    assert (run.drafted, run.accepted, run.rounds) == (21, 21, 7)


def test_a_drift_in_the_middle_of_an_answer_falls_on_both() -> None:
    clock = Clock()

    def slowing(seconds: float) -> Way:
        def decode(prompt: list[int]) -> Iterator[Step]:
            for step in script(clock, seconds, 500)(prompt):
                clock.pace *= 1.002
                yield step

        return decode

    runs = turns(clock).answer({"a": slowing(1.0), "b": slowing(2.0)}, [1])
    assert runs["b"].timing.seconds / runs["a"].timing.seconds == pytest.approx(2.0, rel=0.05)


def test_what_was_started_ahead_is_waited_for_after_each_turn() -> None:
    waits: list[float] = []
    clock = Clock()
    order = Turns(4, random.Random(0), settle=lambda: waits.append(clock.now), clock=clock)
    order.answer({"a": script(clock, 1, 6), "b": script(clock, 1, 6)}, [1])
    assert waits[:4] == [1.0, 2.0, 7.0, 12.0]


def test_order_is_random_and_depends_on_the_seed_alone() -> None:
    def heard(seed: int) -> list[str]:
        clock, calls = Clock(), []
        ways = {"a": script(clock, 1, 60, heard=calls), "b": script(clock, 2, 60, heard=calls)}
        turns(clock, seed).answer(ways, [1])
        return calls

    assert heard(1) == heard(1)
    assert len({tuple(heard(seed)[2:12]) for seed in range(20)}) == 2


def test_blocks_use_the_prompts_in_turn_and_stay_paired() -> None:
    clock = Clock()
    ways = {"a": script(clock, 1, 12), "b": script(clock, 2, 12)}
    runs = interleave(ways, [[1], [2]], turns(clock), blocks=3)
    assert [run.answer[0] for run in runs["a"]] == [1, 2, 1]
    assert [run.answer for run in runs["a"]] == [run.answer for run in runs["b"]]
