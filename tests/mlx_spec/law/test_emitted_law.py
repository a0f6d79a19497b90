"""Speculation is lossless: what the loop emits has exactly the target's own law.

Equality of Fractions, with no tolerance, for every kind of target, draft source and schedule. The
rules and the round are the engine's own lines; only arrays and dice are exchanged.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest

from .enumeration import EnumeratingDice, law_of
from .loop import distance, emitted_law, fixed, honest, own_law, rules_for, schedules
from .toys import COIN, FORGETFUL, HOLED, ONE_HOT, PROMPT, TARGETS, Source, Target, array, sources

HALF = Fraction(1, 2)
Case = tuple[Target, Source, str]
PAIRS = [(target, source) for target in TARGETS for source in sources(target)]
CASES: list[Case] = [(*pair, rule) for pair in PAIRS for rule in rules_for(pair[1])]


def most_k(target: Target, source: Source) -> int:
    """The largest K that is enumerated at every run."""
    if target.vocabulary == 2:
        return 2 if source.withheld else 3 if target is COIN else 4
    return 1 if target is FORGETFUL and source.withheld else 2


def named(case: tuple[object, ...]) -> str:
    return "-".join(part if isinstance(part, str) else part.name for part in case)  # type: ignore[attr-defined]


def check(case: Case, most: int) -> None:
    """The first K+2 tokens have the target's law, whatever the schedule and wherever the end."""
    target, rounds = case[0], honest(*case)
    length = most + 2
    for end in (None, target.vocabulary - 1):
        own = own_law(target, length, end)
        for schedule in schedules(most):
            emitted = emitted_law(rounds, schedule, length, end)
            assert emitted == own, (
                f"schedule {schedule.name}, end token {end}: off by {distance(emitted, own)}"
            )


@pytest.mark.parametrize("case", CASES, ids=named)
def test_the_first_tokens_have_the_targets_own_law(case: Case) -> None:
    check(case, most_k(*case[:2]))


@pytest.mark.slow
@pytest.mark.parametrize("case", [c for c in CASES if not c[1].withheld], ids=named)
def test_the_first_tokens_have_the_targets_own_law_at_larger_k(case: Case) -> None:
    for most in range(most_k(*case[:2]) + 1, longest_k(*case[:2]) + 1):
        check(case, most)


def longest_k(target: Target, source: Source) -> int:
    """The largest K that is enumerated at all: 4 but where that would take many minutes."""
    if target.vocabulary == 2 or source.name.endswith("-drawn") or target is ONE_HOT:
        return 4
    return 4 if target is HOLED and source.name in {"near", "right", "lookup"} else 3


@pytest.mark.parametrize("case", CASES, ids=named)
def test_a_shorter_answer_is_the_start_of_a_longer_one(case: Case) -> None:
    """Where the length limit cuts a block leaves the law of what comes before alone."""
    for length in (1, 2, 3):
        assert emitted_law(honest(*case), fixed(2), length) == own_law(case[0], length)


def test_the_battery_reaches_every_kind_of_round() -> None:
    """The proof is about something: each K, no and full acceptance, short and empty drafts, late ends."""
    seen: Counter[str] = Counter()
    for case in CASES:
        target, source, _ = case
        for k in range(1, most_k(target, source) + 1):
            for block in (b for p in (PROMPT, (*PROMPT, 0)) for b in honest(*case).law(p, k)):
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


@pytest.mark.parametrize("case", [c for c in CASES if c[1].reports], ids=named)
def test_a_drawn_token_stands_as_often_as_the_two_laws_overlap(case: Case) -> None:
    """At K=1 both rules accept sum(min(p, q)), the most that any exact rule can."""
    target, source, _ = case
    q = source.law(PROMPT)
    if q is None:
        return
    accepted = sum(w for block, w in honest(*case).law(PROMPT, 1).items() if block.accepted)
    assert accepted == sum(map(min, target.law(PROMPT), q))


@pytest.mark.parametrize("pair", [p for p in PAIRS if not p[1].sampled], ids=named)
def test_match_accepts_the_drafted_tokens_probability(pair: tuple[Target, Source]) -> None:
    law = honest(*pair, "match").law(PROMPT, 1)
    drafted = {block.drafted for block in law} - {()}
    accepted = sum(weight for block, weight in law.items() if block.accepted)
    assert accepted == sum(pair[0].law(PROMPT)[token] for (token,) in drafted)
    assert len(drafted) <= 1


def test_a_draft_that_is_the_targets_own_law_is_always_accepted() -> None:
    for target in (COIN, HOLED, ONE_HOT):
        equal = next(s for s in sources(target) if s.name == "equal")
        assert all(b.accepted == len(b.drafted) == 3 for b in honest(target, equal).law(PROMPT, 3))


def test_a_draft_of_impossible_tokens_is_never_accepted() -> None:
    wrong = next(s for s in sources(ONE_HOT) if s.name == "wrong-drawn")
    assert all(b.accepted == 0 for b in honest(ONE_HOT, wrong).law(PROMPT, 3))


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
