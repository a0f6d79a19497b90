"""The ways that are compared decode the same answer and count the tokens that their time paid for."""

from __future__ import annotations

import pytest
from tiny import tiny_loaded

from bench import ways
from models.loaded import Loaded

PROMPT = [3, 4, 5, 6, 7]


@pytest.fixture(scope="module")
def target() -> Loaded:
    return tiny_loaded()


def test_all_ways_give_the_same_answer(target: Loaded) -> None:
    answers = [
        way(PROMPT).answer
        for way in (
            ways.mlx_lm(target, 20),
            ways.specchat(target, 20),
            ways.specchat(target, 20, "lookup", 4),
            ways.specchat(target, 20, "self", 4),
        )
    ]
    assert len(answers[0]) > 2
    assert answers == [answers[0]] * 4


def test_the_first_round_is_not_paid_for(target: Loaded) -> None:
    peer, plain = ways.mlx_lm(target, 20)(PROMPT), ways.specchat(target, 20)(PROMPT)
    assert peer.timing.tokens == plain.timing.tokens
    assert peer.timing.seconds > 0
    assert plain.timing.seconds > 0


def test_a_repeated_prompt_is_not_drafted_from_its_earlier_answer(target: Loaded) -> None:
    way = ways.specchat(target, 20, "lookup", 4)
    first, second = way(PROMPT), way(PROMPT)
    assert (first.drafted, first.accepted) == (second.drafted, second.accepted)
