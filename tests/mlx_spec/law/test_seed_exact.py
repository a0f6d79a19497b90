"""Seed-exact sampling: play by play, the tokens are the plain sampler's own for the same noise.

Stronger than equality of laws: no outcome of the noise gives another text, whatever drafts, whatever
K, whatever stops. Each round is checked for every outcome of the noise of the positions that it
reaches; a round that begins where another left off finds some of that noise revealed, which changes
how likely an outcome is, and not what it leads to. Whole answers are played as well.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from .enumeration import EnumeratingDice, UnrelatedDice, law_of
from .loop import Block, Rounds, Schedule, adaptive, cycle, fixed, own_law, plain_answer, whole_answer
from .toys import COIN, HOLED, PROMPT, SKEWED, TARGETS, TIED, Prefix, Source, Target, ToySampler, sources

PAIRS = [(target, source) for target in TARGETS for source in sources(target)]
NOISES = {"one-number": EnumeratingDice, "unrelated": UnrelatedDice}
seed_exact = partial(ToySampler, seed_exact=True)


def named(value: object) -> str:
    if isinstance(value, Target):
        return value.name
    return "-".join(part.name for part in value) if isinstance(value, tuple | list) else str(value)


def rounds_of(pair: tuple[Target, Source], noise: str) -> Rounds:
    return Rounds(*pair, sampler=seed_exact, dice=NOISES[noise])


def check_rounds(pair: tuple[Target, Source], noise: str, k: int) -> None:
    rounds = rounds_of(pair, noise)
    for before in range(pair[0].vocabulary):
        prefix = (*PROMPT, before)

        def play(dice: EnumeratingDice, prefix: Prefix = prefix) -> Block:
            block = rounds.play(prefix, k, dice)
            assert block.emitted == plain_answer(pair[0], prefix, len(block.emitted), None, dice)
            return block

        assert sum(law_of(play, NOISES[noise]).values()) == 1


def most_k(pair: tuple[Target, Source], noise: str) -> int:
    """The largest K that is enumerated at every run."""
    return 3 if pair[0].vocabulary == 2 else 2 if noise == "one-number" else 1


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("pair", PAIRS, ids=named)
def test_every_round_emits_what_plain_sampling_would(pair: tuple[Target, Source], noise: str) -> None:
    for k in range(1, most_k(pair, noise) + 1):
        check_rounds(pair, noise, k)


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(
    "pair",
    [p for p in PAIRS if p[0].order == 2 and p[0].vocabulary < 4 and not p[1].withheld],
    ids=named,
)
def test_every_longer_round_emits_what_plain_sampling_would(pair: tuple[Target, Source], noise: str) -> None:
    check_rounds(pair, noise, most_k(pair, noise) + 1)


def check_answers(pair: tuple[Target, Source], noise: str, schedule: Schedule, length: int) -> None:
    """Equal play by play, and so in law: nothing is more or less likely than it should be."""
    target, rounds = pair[0], rounds_of(pair, noise)
    for end in (None, target.vocabulary - 1):

        def play(dice: EnumeratingDice, end: int | None = end) -> tuple[int, ...]:
            answer = whole_answer(rounds, schedule, length, end, dice)
            assert answer == plain_answer(target, PROMPT, length, end, dice)
            return answer

        assert law_of(play, NOISES[noise]) == own_law(target, length, end)


SCHEDULES = [fixed(1), fixed(2), cycle("on-off", [2, 0, 1, 0]), adaptive(2)]
FEW = {"equal", "near", "sharp", "holed", "hesitant", "wrong-drawn", "right", "lookup", "empty"}


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda schedule: schedule.name)
@pytest.mark.parametrize("source", [s for s in sources(SKEWED) if s.name in FEW], ids=lambda s: s.name)
def test_whole_answers_are_plain_samplings_own(source: Source, schedule: Schedule) -> None:
    check_answers((SKEWED, source), "one-number", schedule, length=4)


# Noise, target, schedules and length of whole answers whose plays can be counted out in seconds.
LONGER = [
    ("one-number", SKEWED, [*SCHEDULES, fixed(3)], 5),
    ("one-number", COIN, [*SCHEDULES, fixed(3)], 5),
    ("one-number", HOLED, [fixed(2), adaptive(2)], 4),
    ("unrelated", COIN, SCHEDULES, 4),
]


@pytest.mark.slow
@pytest.mark.parametrize("source", sorted(FEW))
@pytest.mark.parametrize(("noise", "target", "schedules", "length"), LONGER, ids=named)
def test_more_whole_answers_are_plain_samplings_own(
    noise: str, target: Target, schedules: list[Schedule], length: int, source: str
) -> None:
    drafting = next(s for s in sources(target) if s.name == source)
    for schedule in schedules:
        check_answers((target, drafting), noise, schedule, length)


@pytest.mark.parametrize("pair", [p for p in PAIRS if p[1].reports and p[0].vocabulary < 4], ids=named)
def test_one_number_for_both_sides_accepts_the_overlap_of_their_shares(pair: tuple[Target, Source]) -> None:
    """A drafted token stands when the number lies in the share that each law gives that token."""
    target, source = pair
    p, q = target.law(PROMPT), source.law(PROMPT)
    if q is None:
        return
    block_law = rounds_of(pair, "one-number").law(PROMPT, 1)
    accepted = sum(weight for block, weight in block_law.items() if block.accepted)
    starts = [(sum(p[:x], Fraction(0)), sum(q[:x], Fraction(0))) for x in range(len(p))]
    overlaps = [max(min(a + p[x], b + q[x]) - max(a, b), Fraction(0)) for x, (a, b) in enumerate(starts)]
    assert accepted == sum(overlaps)


def test_a_source_that_equals_the_target_is_always_right() -> None:
    for target in (COIN, HOLED, TIED):
        equal = next(s for s in sources(target) if s.name == "equal")
        law = rounds_of((target, equal), "one-number").law(PROMPT, 3)
        assert all(block.accepted == 3 for block in law)


def test_a_position_keeps_its_noise_and_two_positions_share_none() -> None:
    third = Fraction(1, 3)
    row = np.array([[third, third, third]], dtype=object)

    def play(dice: EnumeratingDice) -> tuple[int, int, int]:
        return tuple(int(dice.draw_at(row, position)[0]) for position in (7, 8, 7))  # type: ignore[return-value]

    for dice in NOISES.values():
        assert law_of(play, dice) == {(a, b, a): third**2 for a in range(3) for b in range(3)}
