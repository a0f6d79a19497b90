"""Every known mistake is told from the real thing by the exact law.

`pytest -rP` shows for each mutant which toys tell it. The slow run plays all toys, to show also where
a mistake hides.
"""

from __future__ import annotations

from collections import Counter
from functools import partial

import pytest

from .enumeration import EnumeratingDice, law_of
from .loop import distance, emitted_law, fixed, own_law, plain_answer, rules_for, whole_answer
from .mutants import MUTANTS, SEED_MUTANTS, Mutant
from .toys import COIN, FORGETFUL, HOLED, PROMPT, SKEWED, TIED, Source, Target, ToySampler, sources

K = 2
LENGTH = K + 2
EACH = [(mutant, rule) for mutant in MUTANTS for rule in mutant.under]


def named(value: Mutant | str) -> str:
    return value if isinstance(value, str) else value.name


def battery(mutant: Mutant, rule: str) -> list[tuple[Target, Source]]:
    """All toys that the rule can judge, the most telling first."""
    telling = [HOLED, TIED, COIN, FORGETFUL, SKEWED]
    targets = sorted(mutant.targets, key=lambda t: telling.index(t) if t in telling else len(telling))
    return [(target, source) for target in targets for source in quick_sources(target, rule)]


def quick_sources(target: Target, rule: str) -> list[Source]:
    """All but those that take long to enumerate and show no more than the deterministic ones."""
    quick = [source for source in sources(target) if target.vocabulary == 2 or not source.withheld]
    # First the source that tells most: almost the target, so that every kind of round happens.
    return sorted((s for s in quick if rule in rules_for(s)), key=lambda s: s.name != "near")


def off_by(mutant: Mutant, target: Target, source: Source, rule: str) -> float:
    """Total variation between what the mutant emits and the target's own law."""
    with pytest.MonkeyPatch.context() as patch:
        rounds = mutant.apply(target, source, rule, patch)
        return float(distance(emitted_law(rounds, fixed(K), LENGTH), own_law(target, LENGTH)))


@pytest.mark.parametrize(("mutant", "rule"), EACH, ids=named)
def test_the_exact_law_tells_a_mistake(mutant: Mutant, rule: str) -> None:
    for target, source in battery(mutant, rule):
        if off := off_by(mutant, target, source, rule):
            print(f"{mutant.name}, {rule}: told by {target.name}/{source.name}, off by {off:.4f}")  # noqa: T201
            return
    pytest.fail(f"{mutant.name} passes for lossless under {rule} on every toy")


@pytest.mark.parametrize("rule", ["token-wise", "block", "match"])
@pytest.mark.parametrize("target", [COIN, SKEWED, TIED, HOLED, FORGETFUL], ids=lambda t: t.name)
def test_without_a_mistake_the_same_check_finds_nothing(target: Target, rule: str) -> None:
    for source in quick_sources(target, rule)[: 3 if target is FORGETFUL else None]:
        assert off_by(Mutant("none"), target, source, rule) == 0


class OtherTextError(Exception):
    """A play emitted what plain sampling would not; ends the enumeration."""


def first_other_text(mutant: Mutant, target: Target, source: Source) -> str | None:
    """A play whose text is not plain sampling's for its noise, or None if there is none."""
    with pytest.MonkeyPatch.context() as patch:
        rounds = mutant.apply(target, source, "seed-exact", patch)

        def play(dice: EnumeratingDice) -> bool:
            answer = whole_answer(rounds, fixed(K), LENGTH, None, dice)
            plain = plain_answer(target, PROMPT, LENGTH, None, dice)
            if answer != plain:
                raise OtherTextError(f"{answer} and not {plain}")
            return True

        try:
            law_of(play, rounds.dice)
        except OtherTextError as told:
            return str(told)
    return None


@pytest.mark.parametrize("mutant", SEED_MUTANTS, ids=named)
def test_the_plain_text_tells_a_mistake_in_the_noise(mutant: Mutant) -> None:
    for source in sources(SKEWED):
        if told := first_other_text(mutant, SKEWED, source):
            print(f"{mutant.name}, seed-exact: told by {SKEWED.name}/{source.name}: {told}")  # noqa: T201
            return
    pytest.fail(f"{mutant.name} passes for seed-exact")


def test_without_a_mistake_every_play_is_plain_samplings() -> None:
    honest = Mutant("none", rounds={"sampler": partial(ToySampler, seed_exact=True)})
    assert all(first_other_text(honest, SKEWED, source) is None for source in sources(SKEWED)[:8])


@pytest.mark.slow
@pytest.mark.parametrize(("mutant", "rule"), EACH, ids=named)
def test_which_toys_tell_a_mistake(mutant: Mutant, rule: str) -> None:
    toys = [toy for toy in battery(mutant, rule) if toy[0].order or len(mutant.targets) == 1]
    told = [(target.name, source.name) for target, source in toys if off_by(mutant, target, source, rule)]
    by = Counter(source for _, source in told)
    counts = ", ".join(f"{source} {times}" for source, times in by.most_common())
    print(f"{mutant.name}, {rule}: {len(told)} of {len(toys)} toys tell it, by source: {counts}")  # noqa: T201
    assert told
