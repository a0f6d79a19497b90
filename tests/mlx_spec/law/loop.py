"""The exact law of what a speculative loop emits, over toy models.

A round depends on nothing but the committed prefix and K, so its law is enumerated once for each and
shared by all schedules. The loop over rounds merges equal states: tokens emitted so far and the state
of the schedule.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any

from mlx_spec.law import acceptance
from mlx_spec.round import verify

from .enumeration import EnumeratingDice, Law, law_of
from .toys import PROMPT, Prefix, Source, Target, ToySampler, tokens


@dataclass(frozen=True)
class Schedule:
    """Which K each round has.

    Attributes:
        name: for test ids.
        k: (state, tokens emitted so far) to K; 0 is a plain step.
        after: (state, drafted, accepted) to the next state.
        start: the first state.
    """

    name: str
    k: Callable[[Any, int], int]
    after: Callable[[Any, int, int], Any] = lambda state, drafted, accepted: state
    start: Hashable = None


def fixed(k: int) -> Schedule:
    return Schedule(f"fixed-{k}", lambda state, position: k)


def cycle(name: str, ks: list[int]) -> Schedule:
    """By round: the first K, the second K, and so on, again and again."""
    return Schedule(name, lambda i, position: ks[i], lambda i, drafted, accepted: (i + 1) % len(ks), start=0)


def by_position(most: int) -> Schedule:
    """By the tokens emitted so far, with plain steps among them."""
    return Schedule("by-position", lambda state, position: (position * 2 + 1) % (most + 1))


def adaptive(most: int) -> Schedule:
    """By what was accepted: longer after success, shorter after failure, parked at 0 for one step."""

    def after(k: int, drafted: int, accepted: int) -> int:
        if k == 0:
            return 1
        return min(k + 1, most) if accepted == drafted else min(accepted, k - 1)

    return Schedule("adaptive", lambda k, position: k, after, start=min(2, most))


def schedules(most: int) -> list[Schedule]:
    """Every kind of schedule with K up to `most`."""
    rising = [1 + i % most for i in range(most)]
    return [
        *(fixed(k) for k in range(1, most + 1)),
        cycle("varying", [*reversed(rising), 1]),
        cycle("on-off", [most, 0, 0, 1, 0]),
        by_position(most),
        adaptive(most),
    ]


@dataclass(frozen=True)
class Block:
    """What one round gave: its tokens, and what a schedule may look at."""

    emitted: Prefix
    drafted: Prefix
    accepted: int


@dataclass
class Rounds:
    """The law of one round of `source` and `target` after any prefix, enumerated once.

    The fields after the rule and the sampler are what the mutants change.

    Attributes:
        rule: judges drafts that come with their laws.
        sampler: makes the sampler around the dice of one play.
        dice: the class of the enumerating dice.
        remembered: the next memory from the last one and a block; the honest loop has none.
        haunted: the target that a memory makes of the target.
    """

    target: Target
    source: Source
    rule: Callable[..., Any] = acceptance.block
    sampler: Callable[[Any], ToySampler] = ToySampler
    dice: type[EnumeratingDice] = EnumeratingDice
    remembered: Callable[[Any, Block], Any] = lambda memory, block: None
    haunted: Callable[[Target, Any], Target] = lambda target, memory: target
    _laws: dict[Any, Law[Block]] = field(default_factory=dict)

    def law(self, prefix: Prefix, k: int, memory: Any = None) -> Law[Block]:
        seen = [order for order in (self.target.order, self.source.order) if order is not None]
        context = prefix[-max(seen) :] if len(seen) == 2 else prefix
        key = (context, k, memory)
        if key not in self._laws:
            self._laws[key] = law_of(lambda dice: self.play(prefix, k, dice, memory), self.dice)
        return self._laws[key]

    def play(self, prefix: Prefix, k: int, dice: EnumeratingDice, memory: Any = None) -> Block:
        """One round with `dice`."""
        sampler = self.sampler(dice)
        forward = self.haunted(self.target, memory).forward(prefix)
        draft = self.source.propose(prefix, k, dice, coupled=sampler.sampling.seed_exact)
        if len(draft) == 0:
            token = int(sampler.tokens(forward(tokens(prefix[-1:])), prefix)[0])
            return Block((token,), (), 0)
        outcome = verify(prefix, draft, forward, sampler, self.rule)
        return Block(tuple(outcome.emitted), tuple(outcome.drafted), outcome.accepted)


# What judges drafts that come with their laws; the others are sample-and-match's.
RULES: dict[str, Callable[..., Any]] = {"token-wise": acceptance.reject, "block": acceptance.block}


def rules_for(source: Source) -> list[str]:
    """The names of the rules that can judge `source`'s drafts."""
    return list(RULES) if source.reports else ["match"]


@cache
def honest(target: Target, source: Source, rule: str = "block") -> Rounds:
    """The engine's own rounds, shared by all tests."""
    return Rounds(target, source, RULES.get(rule, acceptance.block))


def emitted_law(rounds: Rounds, schedule: Schedule, length: int, end: int | None = None) -> Law[Prefix]:
    """The law of the first `length` tokens that the loop emits; shorter where `end` comes first."""
    finished: defaultdict[Prefix, Fraction] = defaultdict(Fraction)
    running: list[defaultdict[Any, Fraction]] = [defaultdict(Fraction) for _ in range(length)]
    running[0][(), schedule.start, None] = Fraction(1)
    for states in running:
        for (emitted, state, memory), weight in states.items():
            k = schedule.k(state, len(emitted))
            for block, share in rounds.law(PROMPT + emitted, k, memory).items():
                longer = emitted + block.emitted
                cut = length if end not in longer else min(length, longer.index(end) + 1)
                if len(longer) >= cut:
                    finished[longer[:cut]] += weight * share
                else:
                    later = schedule.after(state, len(block.drafted), block.accepted)
                    running[len(longer)][longer, later, rounds.remembered(memory, block)] += weight * share
    return dict(finished)


def own_law(target: Target, length: int, end: int | None = None) -> Law[Prefix]:
    """The target's law of the same tokens, by its chain of conditionals."""
    finished: Law[Prefix] = {}
    running: Law[Prefix] = {(): Fraction(1)}
    while running:
        emitted, weight = running.popitem()
        for token, p in enumerate(target.law(PROMPT + emitted)):
            longer = (*emitted, token)
            if p and (len(longer) == length or token == end):
                finished[longer] = weight * p
            elif p:
                running[longer] = weight * p
    return finished


def distance(one: Law[Prefix], other: Law[Prefix]) -> Fraction:
    """Total variation between two laws: 0 only if they are equal."""
    return sum((abs(one.get(x, 0) - other.get(x, 0)) for x in one.keys() | other.keys()), Fraction(0)) / 2


def whole_answer(
    rounds: Rounds, schedule: Schedule, length: int, end: int | None, dice: EnumeratingDice
) -> Prefix:
    """One whole answer with `dice`; as in the engine, no draft reaches past the length."""
    emitted: Prefix = ()
    state = schedule.start
    while len(emitted) < length and end not in emitted:
        k = min(schedule.k(state, len(emitted)), length - len(emitted) - 1)
        block = rounds.play(PROMPT + emitted, k, dice)
        state = schedule.after(state, len(block.drafted), block.accepted)
        emitted += block.emitted
    return emitted if end not in emitted else emitted[: emitted.index(end) + 1]


def plain_answer(
    target: Target, prefix: Prefix, length: int, end: int | None, dice: EnumeratingDice
) -> Prefix:
    """What plain sampling gives after `prefix` with the position noise of `dice`."""
    emitted: Prefix = ()
    while len(emitted) < length and end not in emitted:
        before = prefix + emitted
        logits = target.forward(before)(tokens(before[-1:]))
        emitted += (int(ToySampler(dice).tokens(logits, before)[0]),)
    return emitted
