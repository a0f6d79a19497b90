"""Every known mistake is told from the real thing by the exact law.

`pytest -rP` shows for each mutant which toys tell it. The slow run plays all toys, to show also where
a mistake hides.
"""

from __future__ import annotations

from collections import Counter

import pytest

from .loop import distance, emitted_law, fixed, own_law
from .mutants import MUTANTS, Mutant
from .toys import COIN, FORGETFUL, HOLED, SKEWED, TIED, Source, Target, sources

K = 2
LENGTH = K + 2


def battery(mutant: Mutant) -> list[tuple[Target, Source]]:
    """All toys, the most telling first."""
    telling = [HOLED, TIED, COIN, FORGETFUL, SKEWED]
    targets = sorted(mutant.targets, key=lambda t: telling.index(t) if t in telling else len(telling))
    return [(target, source) for target in targets for source in quick_sources(target)]


def quick_sources(target: Target) -> list[Source]:
    """All but those that take long to enumerate and show no more than the deterministic ones."""
    return [source for source in sources(target) if target.vocabulary == 2 or not source.withheld]


def off_by(mutant: Mutant, target: Target, source: Source) -> float:
    """Total variation between what the mutant emits and the target's own law."""
    with pytest.MonkeyPatch.context() as patch:
        rounds = mutant.apply(target, source, patch)
        return float(distance(emitted_law(rounds, fixed(K), LENGTH), own_law(target, LENGTH)))


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.name)
def test_the_exact_law_tells_a_mistake(mutant: Mutant) -> None:
    for target, source in battery(mutant):
        if off := off_by(mutant, target, source):
            print(f"{mutant.name}: told by {target.name}/{source.name}, off by {off:.4f}")  # noqa: T201
            return
    pytest.fail(f"{mutant.name} passes for lossless on every toy")


@pytest.mark.parametrize("target", [COIN, SKEWED, TIED, HOLED, FORGETFUL], ids=lambda t: t.name)
def test_without_a_mistake_the_same_check_finds_nothing(target: Target) -> None:
    for source in quick_sources(target):
        assert off_by(Mutant("none"), target, source) == 0


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.name)
def test_which_toys_tell_a_mistake(mutant: Mutant) -> None:
    toys = battery(mutant)
    told = [(target.name, source.name) for target, source in toys if off_by(mutant, target, source)]
    by = Counter(source for _, source in told)
    counts = ", ".join(f"{source} {times}" for source, times in by.most_common())
    print(f"{mutant.name}: {len(told)} of {len(toys)} toys tell it, by source: {counts}")  # noqa: T201
    assert told
