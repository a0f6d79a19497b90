"""The engine's own loop over a toy model: whole generations, every outcome, the target's exact law.

Here nothing is shared between rounds: session, roll-back, plain steps one ahead, length, end tokens
and the switch between plain and speculative rounds are the engine's real ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import mlx.core as mx
import pytest

from mlx_spec import engine as engine_module
from mlx_spec.drafts.base import Draft
from mlx_spec.engine import Engine
from mlx_spec.law.sampling import Dice
from mlx_spec.options import Limits, Sampling
from mlx_spec.policy.controller import State
from mlx_spec.policy.record import Record
from mlx_spec.policy.step import Step

from .enumeration import EnumeratingDice, law_of
from .loop import Schedule, adaptive, cycle, distance, fixed, own_law, plain_answer
from .toys import (
    COIN,
    FORGETFUL,
    HOLED,
    PROMPT,
    Prefix,
    Source,
    Target,
    ToySampler,
    array,
    sources,
)


class ToyCachedModel:
    """Stands for the target and its KV cache: keeps the tokens whose rows are staged."""

    cannot_roll_back = None
    trims = True
    kv_bytes = 0

    def __init__(self, target: Target, kv_bits: int | None, vocabulary: int) -> None:
        assert vocabulary == target.vocabulary
        self.target = target
        self.model = target
        self._fed: Prefix = ()

    @property
    def rows(self) -> int:
        return len(self._fed)

    def forward(self, ids: Any) -> Any:
        before = len(self._fed)
        self._fed += tuple(ids.tolist())
        return array(self.target.row(self._fed[: i + 1]) for i in range(before, len(self._fed)))

    def prefill(self, ids: Sequence[int], chunk: int) -> None:
        self._fed += tuple(ids)

    def mark(self) -> None:
        pass

    def restore(self, rows: int) -> int:
        self._fed = self._fed[:rows]
        return self.rows

    def reset(self) -> None:
        self._fed = ()


class ToyDraftSource:
    """A toy source behind the engine's protocol; checks that it only ever sees committed tokens."""

    free = False
    nbytes = 0
    behind = 0
    unable = None
    context = None

    def __init__(self, source: Source, dice: Dice) -> None:
        self.name = source.name
        self._source, self._dice = source, dice
        self._committed: Prefix = ()
        self._proposed: Prefix = ()

    def begin(self, committed: Sequence[int], sampler: Any) -> None:
        self._committed = tuple(committed)
        self._coupled = sampler.sampling.seed_exact

    def propose(self, k: int) -> Draft:
        draft = self._source.propose(self._committed, k, self._dice, coupled=self._coupled)
        self._proposed = tuple(draft.tokens.tolist())
        return draft

    def commit(self, ids: Sequence[int], accepted: int) -> None:
        assert tuple(ids[:accepted]) == self._proposed[:accepted]
        self._committed += tuple(ids)
        self._proposed = ()

    def rewind(self, n: int) -> None:
        self._committed = self._committed[: len(self._committed) - n]

    def in_step(self, committed: Sequence[int]) -> bool:
        return self._committed == tuple(committed)

    def reset(self) -> None:
        self._committed = self._proposed = ()


class ToyController:
    """Plays a schedule."""

    state: State = "speculating"
    most = 4
    record = Record((), 4)

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._state = schedule.start
        self._emitted = 0

    def begin(self, depth: int, behind: int) -> None:
        """A schedule starts with the controller."""

    def prefilled(self, tokens: int, seconds: float) -> None:
        """A schedule knows no costs."""

    def next_k(self) -> int:
        return self._schedule.k(self._state, self._emitted)

    def observe(self, step: Step) -> None:
        self._emitted += step.emitted
        self._state = self._schedule.after(self._state, step.drafted, step.emitted - 1 if step.drafted else 0)


@pytest.fixture
def generate(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function that plays one generation of the real engine over toys."""
    monkeypatch.setattr(engine_module, "CachedModel", ToyCachedModel)
    monkeypatch.setattr(engine_module, "parameter_bytes", lambda model: 0)
    monkeypatch.setattr("mlx_spec.measuring.device.weights", lambda model: None)
    monkeypatch.setattr(mx, "async_eval", lambda *arrays: None)

    def play(
        target: Target,
        source: Source,
        schedule: Schedule,
        length: int,
        end: int | None,
        dice: Dice,
        seed_exact: bool = False,
    ) -> Prefix:
        def sampler(sampling: Sampling, **options: Any) -> ToySampler:
            return ToySampler(dice, seed_exact=seed_exact)

        monkeypatch.setattr(engine_module, "Sampler", sampler)
        toy = SimpleNamespace(
            model=target,
            tokenizer=SimpleNamespace(
                decode=lambda ids, **options: "".join("abcd"[i] for i in ids),
                encode=lambda text, **options: [],
                get_vocab=lambda: {"abcd"[i]: i for i in range(target.vocabulary)},
                eos_token_ids=set() if end is None else {end},
            ),
            info=SimpleNamespace(context_length=64, vocab_size=target.vocabulary),
        )
        one = Engine(toy, ToyDraftSource(source, dice), k=1, prefill_chunk=64)
        one._controller = ToyController(schedule)
        emitted: list[int] = []
        for event in one.generate(list(PROMPT), Sampling(temperature=1), Limits(max_tokens=length)):
            emitted += event.tokens
        if event.finish_reason == "stop":
            assert end is not None
            emitted.append(end)
        assert one.session.committed[len(PROMPT) :] == [t for t in emitted if t != end]
        assert one.session.target.rows == len(one.session.committed) - 1
        return tuple(emitted)

    return play


FEW = {"near", "level", "holed", "hesitant", "wrong-drawn", "right", "wrong", "lookup", "halting", "empty"}
# Target, source, largest K, tokens to generate.
CASES = [(COIN, s, 1 if s.withheld else 3, 4 if s.withheld else 5) for s in sources(COIN)] + [
    (target, s, 2, 3) for target in (HOLED, FORGETFUL) for s in sources(target) if s.name in FEW
]
SCHEDULES = {
    "fixed": fixed,
    "on-off": lambda most: cycle("on-off", [0, most, 0, 0, 1]),
    "adaptive": adaptive,
}


@pytest.mark.parametrize("kind", SCHEDULES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].name}-{case[1].name}")
def test_the_engine_emits_the_targets_own_law(
    generate: Any, case: tuple[Target, Source, int, int], kind: str
) -> None:
    target, source, most, length = case
    schedule = SCHEDULES[kind](most)
    for end in (None, target.vocabulary - 1):
        emitted = law_of(lambda dice, end=end: generate(target, source, schedule, length, end, dice))
        own = own_law(target, length, end)
        assert emitted == own, f"end token {end}: off by {distance(emitted, own)}"


@pytest.mark.parametrize("kind", SCHEDULES)
@pytest.mark.parametrize("source", [s for s in sources(COIN) if s.name in FEW], ids=lambda s: s.name)
def test_the_engine_emits_plain_samplings_own_tokens_when_it_is_seed_exact(
    generate: Any, source: Source, kind: str
) -> None:
    """Play by play, with all the noise of a position remembered from round to round."""
    schedule = SCHEDULES[kind](2)
    for end in (None, 1):

        def play(dice: EnumeratingDice, end: int | None = end) -> Prefix:
            answer = generate(COIN, source, schedule, 4, end, dice, seed_exact=True)
            assert answer == plain_answer(COIN, PROMPT, 4, end, dice)
            return answer

        assert law_of(play) == own_law(COIN, 4, end)
