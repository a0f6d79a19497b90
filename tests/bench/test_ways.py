"""The ways that are compared decode the same answer and count the same tokens."""

from __future__ import annotations

import random

import pytest
from bench.interleave import Run, Turns
from tiny import tiny_loaded

from bench import ways
from models.loaded import Loaded

PROMPT = [3, 4, 5, 6, 7]


@pytest.fixture(scope="module")
def target() -> Loaded:
    return tiny_loaded()


@pytest.fixture(scope="module")
def runs(target: Loaded) -> dict[str, Run]:
    turns = Turns(4, random.Random(0), ways.settle)
    compared = {
        "mlx-lm": ways.mlx_lm(target, 30),
        "plain": ways.specchat(target, 30),
        "lookup": ways.specchat(target, 30, "lookup", 4),
        "self": ways.specchat(target, 30, "self", 4),
    }
    return turns.answer(compared, PROMPT)


def test_all_ways_give_the_same_answer_though_they_take_turns(runs: dict[str, Run]) -> None:
    answers = [run.answer for run in runs.values()]
    assert len(answers[0]) > 12
    assert answers == [answers[0]] * 4


def test_plain_ways_are_timed_over_the_same_tokens(runs: dict[str, Run]) -> None:
    assert runs["mlx-lm"].timing.tokens == runs["plain"].timing.tokens > 0
    assert all(run.timing.seconds > 0 for run in runs.values())


def test_only_speculative_ways_draft(runs: dict[str, Run]) -> None:
    assert (runs["mlx-lm"].rounds, runs["plain"].rounds) == (0, 0)
    assert runs["self"].accepted == runs["self"].drafted > 0


def test_a_repeated_prompt_is_not_drafted_from_its_earlier_answer(target: Loaded) -> None:
    way = ways.specchat(target, 20, "lookup", 4)
    first, second = list(way(PROMPT)), list(way(PROMPT))
    assert first == second
