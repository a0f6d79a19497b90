"""Speculation is lossless: what the loop emits has exactly the target's own law.

Equality of Fractions, with no tolerance, for every kind of target, draft source and schedule. The
rules and the round are the engine's own lines; only arrays and dice are exchanged.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import cache

import pytest

from .enumeration import EnumeratingDice, law_of
from .loop import Rounds, distance, emitted_law, fixed, own_law, schedules
from .toys import COIN, FORGETFUL, HOLED, ONE_HOT, PROMPT, TARGETS, WIDE, Source, Target, array, sources

HALF = Fraction(1, 2)
PAIRS = [(target, source) for target in TARGETS for source in sources(target)]
# Sources of the widest toy whose rounds at K=4 are few enough to enumerate at every run.
QUICK_AT_4 = {"equal", "level", "right-drawn", "wrong-drawn", "right", "wrong", "empty"}


def most_k(target: Target, source: Source) -> int:
    """The largest K that is enumerated at every run."""
    own_memory = source.order is None and target.order is not None  # then few rounds are shared
    if target is FORGETFUL or (target.vocabulary > 2 and (source.withheld or own_memory)):
        return 2
    return 4 if target.vocabulary == 2 or (target is WIDE and source.name in QUICK_AT_4) else 3


def named(pair: tuple[Target, Source]) -> str:
    return f"{pair[0].name}-{pair[1].name}"


@cache
def rounds_of(target: Target, source: Source) -> Rounds:
    return Rounds(target, source)


def check(target: Target, source: Source, most: int) -> None:
    """The first K+2 tokens have the target's law, whatever the schedule and wherever the end."""
    rounds = rounds_of(target, source)
    length = most + 2
    for end in (None, target.vocabulary - 1):
        own = own_law(target, length, end)
        for schedule in schedules(most):
            emitted = emitted_law(rounds, schedule, length, end)
            assert emitted == own, (
                f"schedule {schedule.name}, end token {end}: off by {distance(emitted, own)}"
            )


@pytest.mark.parametrize("pair", PAIRS, ids=named)
def test_the_first_tokens_have_the_targets_own_law(pair: tuple[Target, Source]) -> None:
    check(*pair, most_k(*pair))


@pytest.mark.slow
@pytest.mark.parametrize("pair", [p for p in PAIRS if most_k(*p) < 4 and not p[1].withheld], ids=named)
def test_the_first_tokens_have_the_targets_own_law_at_larger_k(pair: tuple[Target, Source]) -> None:
    check(*pair, most_k(*pair) + 1)


@pytest.mark.parametrize("pair", PAIRS, ids=named)
def test_a_shorter_answer_is_the_start_of_a_longer_one(pair: tuple[Target, Source]) -> None:
    """Where the length limit cuts a block leaves the law of what comes before alone."""
    rounds = rounds_of(*pair)
    for length in (1, 2, 3):
        assert emitted_law(rounds, fixed(2), length) == own_law(pair[0], length)


def test_the_battery_reaches_every_kind_of_round() -> None:
    """The proof is about something: each K, no and full acceptance, short and empty drafts, late ends."""
    seen: Counter[str] = Counter()
    for target, source in PAIRS:
        for k in range(1, most_k(target, source) + 1):
            for block in (b for p in (PROMPT, (*PROMPT, 0)) for b in rounds_of(target, source).law(p, k)):
                drafted = len(block.drafted)
                seen[f"k={k}"] += 1
                seen["empty draft"] += drafted == 0
                seen["short draft"] += 0 < drafted < k
                seen["nothing accepted"] += drafted > 0 == block.accepted
                seen["everything accepted"] += 0 < drafted == block.accepted
                seen["cut in between"] += 0 < block.accepted < drafted
                inside = block.drafted[: max(block.accepted - 1, 0)]
                seen["an end token inside an accepted block"] += target.vocabulary - 1 in inside
    kinds = {f"k={k}" for k in range(1, 5)} | {
        "empty draft",
        "short draft",
        "nothing accepted",
        "everything accepted",
        "cut in between",
        "an end token inside an accepted block",
    }
    assert {kind for kind, times in seen.items() if times} == kinds


@pytest.mark.parametrize("pair", [p for p in PAIRS if p[1].sampled and not p[1].withheld], ids=named)
def test_rejection_accepts_the_overlap_of_the_two_laws(pair: tuple[Target, Source]) -> None:
    target, source = pair
    q = source.law(PROMPT)
    if q is None:
        return
    accepted = sum(w for block, w in rounds_of(*pair).law(PROMPT, 1).items() if block.accepted)
    assert accepted == sum(map(min, target.law(PROMPT), q))


@pytest.mark.parametrize("pair", [p for p in PAIRS if not p[1].sampled], ids=named)
def test_match_accepts_the_drafted_tokens_probability(pair: tuple[Target, Source]) -> None:
    law = rounds_of(*pair).law(PROMPT, 1)
    drafted = {block.drafted for block in law} - {()}
    accepted = sum(weight for block, weight in law.items() if block.accepted)
    assert accepted == sum(pair[0].law(PROMPT)[token] for (token,) in drafted)
    assert len(drafted) <= 1


def test_a_draft_that_is_the_targets_own_law_is_always_accepted() -> None:
    for target in (COIN, HOLED, ONE_HOT):
        equal = next(s for s in sources(target) if s.name == "equal")
        assert all(b.accepted == len(b.drafted) == 3 for b in rounds_of(target, equal).law(PROMPT, 3))


def test_a_draft_of_impossible_tokens_is_never_accepted() -> None:
    wrong = next(s for s in sources(ONE_HOT) if s.name == "wrong-drawn")
    assert all(b.accepted == 0 for b in rounds_of(ONE_HOT, wrong).law(PROMPT, 3))


def test_the_dice_enumerate_exactly() -> None:
    half, third = Fraction(1, 2), Fraction(1, 3)

    def play(dice: EnumeratingDice) -> tuple[bool, int]:
        first = bool(dice.flip(array([[half]])[0])[0])
        return first, int(dice.draw(array([[third, 0, 2 * third] if first else [0, Fraction(1), 0]]))[0])

    assert law_of(play) == {(True, 0): Fraction(1, 6), (True, 2): third, (False, 1): half}


@pytest.mark.parametrize(
    "row", [[0.5, 0.5], [Fraction(1, 2), Fraction(1, 3)], [Fraction(3, 2), Fraction(-1, 2)]]
)
def test_the_dice_refuse_what_is_no_exact_law(row: list[Fraction]) -> None:
    with pytest.raises(AssertionError):
        EnumeratingDice().draw(array([row]))
