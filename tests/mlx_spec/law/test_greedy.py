"""Greedy speculation gives the very tokens of the plain argmax chain, first index at ties."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest

from mlx_spec.drafts.base import Draft
from mlx_spec.law.sampling import Sampler
from mlx_spec.options import Sampling
from mlx_spec.round import verify

from .loop import Block, Rounds, emitted_law, own_law, schedules
from .toys import PROMPT, TARGETS, Prefix, Source, Target, ToySampler, sources

PAIRS = [(target, source) for target in TARGETS for source in sources(target)]
QUICK = [pair for pair in PAIRS if not pair[1].withheld or pair[0].vocabulary == 2]
LENGTH = 6


def chain(target: Target, length: int) -> Prefix:
    """Plain greedy decoding: the first of the highest weights, again and again."""
    emitted: Prefix = ()
    while len(emitted) < length:
        row = target.row(PROMPT + emitted)
        emitted += (row.index(max(row)),)
    return emitted


@pytest.mark.parametrize("pair", QUICK, ids=lambda pair: f"{pair[0].name}-{pair[1].name}")
def test_every_source_and_schedule_gives_the_plain_chain(pair: tuple[Target, Source]) -> None:
    rounds = Rounds(*pair, sampler=lambda dice: ToySampler(dice, greedy=True))
    for schedule in schedules(3):
        assert emitted_law(rounds, schedule, LENGTH) == {chain(pair[0], LENGTH): 1}, schedule.name


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
def test_mlx_gives_the_plain_chain_too(target: Target) -> None:
    sampler = Sampler(Sampling(temperature=0))
    for source in sources(target):
        emitted: Prefix = ()
        while len(emitted) < LENGTH:
            prefix = PROMPT + emitted
            draft = source.propose(prefix, 3, _FirstOutcome())
            toy = target.forward(prefix)

            def forward(ids: mx.array, toy=toy) -> mx.array:
                return mx.array(toy(np.array(ids)).astype(np.float32))

            if len(draft):
                laws = None if draft.laws is None else mx.array(draft.laws.astype(np.float32))
                emitted += tuple(
                    verify(prefix, Draft(mx.array(draft.tokens), laws), forward, sampler).emitted
                )
            else:
                emitted += tuple(sampler.tokens(forward(mx.array(prefix[-1:])), prefix).tolist())
        assert emitted[:LENGTH] == chain(target, LENGTH), source.name


class _FirstOutcome:
    """Dice that always show the first outcome that can happen."""

    def flip(self, probabilities):
        return np.array([p > 0 for p in probabilities])

    def draw(self, rows):
        return np.array([next(i for i, p in enumerate(row) if p) for row in rows.tolist()], dtype=np.uint32)


@pytest.mark.parametrize("dtype", [mx.float32, mx.float16, mx.bfloat16])
def test_ties_go_to_the_first_index_in_every_precision(dtype: mx.Dtype) -> None:
    logits = mx.array([[1, 3, 3, 2], [5, 5, 5, 5], [0, 1, 2, 2]], dtype=dtype)
    assert Sampler(Sampling()).tokens(logits, [0]).tolist() == [1, 0, 2]


def test_a_one_hot_law_is_greedy_decoding() -> None:
    """Sampling from laws that leave no choice, against the same chain."""
    for target in TARGETS:
        if target.name == "one-hot":
            assert own_law(target, LENGTH) == {chain(target, LENGTH): 1}


def test_greedy_needs_no_dice() -> None:
    class NoDice:
        def flip(self, probabilities: object) -> None:
            raise AssertionError("greedy decoding flipped")

        def draw(self, rows: object) -> None:
            raise AssertionError("greedy decoding drew")

    sampler = ToySampler(NoDice(), greedy=True)
    target = TARGETS[-1]
    right = next(s for s in sources(target) if s.name == "right")
    draft = right.propose(PROMPT, 3, NoDice())
    outcome = verify(PROMPT, draft, target.forward(PROMPT), sampler)
    assert Block(tuple(outcome.emitted), tuple(outcome.drafted), outcome.accepted).accepted == 3
