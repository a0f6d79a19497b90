"""The probe recovers the costs that a scripted machine has, within its budget, and leaves no trace."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import mlx.core as mx
import pytest
from tiny import tiny_loaded

from mlx_spec.caches import CachedModel
from mlx_spec.drafts.base import NOTHING, Draft
from mlx_spec.drafts.model import ModelDraft
from mlx_spec.law.sampling import Sampler
from mlx_spec.measuring.measured import Block, Measured, summarize
from mlx_spec.measuring.probe import BUDGET, Probe
from mlx_spec.options import EngineOptions, Sampling
from mlx_spec.turns.reading import Reading

VOCAB = 8
# One family for each kind of cache: plain, experts, windows, shared layers, states, both, latent, chunks.
KINDS = ("llama", "qwen3_moe", "gemma3_text", "gemma3n", "mamba2", "falcon_h1", "deepseek_v3", "llama4")
TEXT = [3, 1, 4, 1, 5, 2, 6, 5, 3, 5, 0, 7]


@dataclass
class Machine:
    """Time passes only in forwards of the target and in drafting."""

    cost: Callable[[int], float]
    draft_cost: float = 0.0
    now: float = 0.0
    rows: int = len(TEXT) - 1
    layers: list[Any] = field(default_factory=list)
    forwards: list[int] = field(default_factory=list)
    asked: int = 0

    # As a clock

    def __call__(self) -> float:
        return self.now

    # As a target

    def forward(self, tokens: mx.array) -> mx.array:
        self.rows += tokens.size
        self.forwards.append(tokens.size)
        self.now += self.cost(tokens.size)
        return mx.zeros((tokens.size, VOCAB))

    def keep(self, rows: int) -> None:
        self.rows = rows

    # As a draft source

    def propose(self, k: int) -> Draft:
        self.asked += 1
        self.now += k * self.draft_cost
        return Draft(mx.zeros((k,), dtype=mx.uint32))

    def commit(self, tokens: list[int], accepted: int) -> None:
        assert (tokens, accepted) == ([], 0)
        self.asked -= 1


def probe(machine: Machine, *, rows: int = 9, source: Any = None) -> Probe:
    return Probe(
        machine,  # type: ignore[arg-type]
        source,
        TEXT,
        Sampler(Sampling()),
        most_rows=rows,
        vocabulary=VOCAB,
        clock=machine,
    )


def run(found: Probe) -> Measured:
    for _ in found.calls():
        pass
    assert found.done
    assert found.measured is not None
    return found.measured


def cliff(m: int) -> float:
    return 0.05 * (1 + 0.02 * m if m < 6 else 2.5)


def test_a_known_curve_with_its_cliff_is_recovered_at_every_m() -> None:
    found = run(probe(Machine(cliff)))
    assert set(found.verify) == set(range(1, 10))
    for m, ratio in found.verify.items():
        assert ratio.value == pytest.approx(cliff(m) / cliff(1))
        if m in (1, 2, 3, 5, 9):  # measured more than once
            assert (ratio.low, ratio.high) == pytest.approx((ratio.value, ratio.value))
    assert found.row_s == pytest.approx(cliff(1))
    assert found.drift == pytest.approx(0)


def test_draft_costs_and_the_plain_step_are_in_units_of_one_row() -> None:
    machine = Machine(lambda m: 0.05, draft_cost=0.02)
    found = run(probe(machine, source=machine))
    assert found.drafts == pytest.approx({1: 0.4, 3: 1.2})
    assert found.plain == pytest.approx(1.0)
    assert found.overhead == pytest.approx(0.0)


@pytest.mark.parametrize("slope", [0.0, 0.3, 0.9, 1.5])
@pytest.mark.parametrize("draft", [0.0, 1.0])
def test_the_budget_is_kept_by_parallel_and_by_serialized_machines(slope: float, draft: float) -> None:
    one = 0.05  # 20 tokens/s
    machine = Machine(lambda m: one * (1 + slope * (m - 1)), draft_cost=draft * one)
    found = run(probe(machine, rows=8, source=machine))
    assert machine.now <= BUDGET * one + 1e-9
    assert set(found.verify) >= {1, 2, 3, 5, 8}
    assert found.blocks >= (2 if slope < 1 else 1)


@pytest.mark.parametrize(("slope", "most"), [(0.05, 16), (1.0, 8)])
def test_many_rows_are_measured_where_they_cost_little(slope: float, most: int) -> None:
    machine = Machine(lambda m: 0.05 * (1 + slope * (m - 1)))
    found = run(probe(machine, rows=16))
    assert machine.now <= BUDGET * 0.05 + 1e-9
    assert max(found.verify) == most
    assert found.blocks >= 2


def test_how_far_a_machine_slows_down_is_told_and_its_ratios_stay_right() -> None:
    machine = Machine(lambda m: 0.05 * m * (1 + 0.05 * machine.now))
    found = run(probe(machine))
    assert found.drift > 0.05
    assert found.verify[5].value == pytest.approx(5, rel=0.1)


def test_a_machine_that_others_keep_busy_gives_no_measurement_of_use() -> None:
    stalls = random.Random(0)
    busy = run(probe(Machine(lambda m: 0.05 * m * (10 if stalls.random() < 0.3 else 1))))
    assert not busy.steady
    assert run(probe(Machine(lambda m: 0.05 * m * stalls.uniform(0.95, 1.05)))).steady


def test_plain_steps_that_were_disturbed_alone_spoil_it_as_well() -> None:
    found = run(probe(Machine(cliff)))
    assert found.steady
    assert not replace(found, plain=2.0).steady
    assert replace(found, plain=1.8, overhead=0.5).steady, "a tiny model's steps are its own work"


def test_plain_steps_that_differ_from_block_to_block_spoil_it() -> None:
    rows = {1: 1.0, 2: 2.0}
    calm, torn = ([Block(rows, plain) for plain in plains] for plains in ((1.0, 1.05), (0.5, 1.0)))
    assert summarize(calm, 0, Block(rows)).steady
    assert not summarize(torn, 0, Block(rows)).steady


def test_an_interruption_is_heard_between_any_two_calls_and_leaves_every_row() -> None:
    for calls in range(0, 60):
        machine = Machine(cliff)
        found = probe(machine)
        going = found.calls()
        for _ in range(calls):
            next(going)
        before = len(machine.forwards)
        going.close()
        assert (machine.rows, len(machine.forwards)) == (len(TEXT) - 1, before)
        assert not found.done


def test_what_was_interrupted_is_gone_on_with() -> None:
    machine = Machine(cliff)
    found = probe(machine)
    visits = 0
    while not found.done:
        visits += 1
        for _, _ in zip(range(26), found.calls(), strict=False):
            pass
    assert visits > 1
    assert found.measured is not None
    assert found.measured.verify[9].value == pytest.approx(cliff(9) / cliff(1))


def test_rows_are_distinct_tokens_of_the_text() -> None:
    seen: list[list[int]] = []

    class Listening(Machine):
        def forward(self, tokens: mx.array) -> mx.array:
            seen.append(tokens.tolist())  # type: ignore[arg-type]
            return super().forward(tokens)

    run(probe(Listening(cliff)))
    joined = " ".join(map(str, TEXT))
    assert all(" ".join(map(str, tokens)) in joined for tokens in seen if len(tokens) > 2)


def test_costs_are_in_seconds_of_the_time_of_the_measurement() -> None:
    machine = Machine(cliff, draft_cost=0.01)
    costs = run(probe(machine, source=machine)).costs(fresh=True)
    assert costs.rows(7) == pytest.approx(cliff(7))
    assert costs.drafting(3) == pytest.approx(0.03)
    assert costs.plain == pytest.approx(cliff(1))
    assert costs.depth == len(TEXT) - 1


def test_numbers_survive_json_and_damage_is_refused() -> None:
    machine = Machine(cliff, draft_cost=0.01)
    found = run(probe(machine, source=machine))
    assert Measured.from_json(found.as_json()) == found
    for damage in ({"verify": {}}, {"row_s": -1.0}, {"plain": float("nan")}, {"drafts": None}):
        with pytest.raises((KeyError, TypeError, ValueError, AttributeError)):
            Measured.from_json({**found.as_json(), **damage})


@pytest.mark.parametrize("rows", [0, 40])
@pytest.mark.parametrize("family", KINDS)
def test_cache_and_source_of_every_kind_go_on_as_if_nothing_had_been(family: str, rows: int) -> None:
    loaded = tiny_loaded(family)
    vocabulary = loaded.info.vocab_size
    text = [3 + (7 * i + i * i) % 29 for i in range(rows + 1)]
    sampler = Sampler(Sampling())

    def target_and_source() -> tuple[CachedModel, ModelDraft]:
        target = CachedModel(loaded.model, vocabulary=vocabulary)
        target.prefill(text[:-1], 8)
        source = ModelDraft("self", loaded.model, EngineOptions(), vocabulary=vocabulary)
        source.begin(text, sampler)
        source.catch_up(Reading(8))
        return target, source

    def goes_on(target: CachedModel, source: ModelDraft) -> tuple[mx.array, list[int]]:
        logits = [target.forward(mx.array([token])) for token in (text[-1], 5, 9)]
        return mx.concatenate(logits), source.propose(3).tokens.tolist()  # type: ignore[return-value]

    target, source = target_and_source()
    found = Probe(target, source, text, sampler, most_rows=6, vocabulary=vocabulary)
    for _, _ in zip(range(26), found.calls(), strict=False):  # the first block, with every kind of call
        pass
    assert found.measured is not None
    assert target.rows == rows
    expected, proposed = goes_on(*target_and_source())
    logits, proposal = goes_on(target, source)
    assert mx.allclose(logits, expected, atol=1e-5)
    assert proposal == proposed


def test_a_source_with_nothing_to_propose_costs_what_asking_costs() -> None:
    class Silent(Machine):
        def propose(self, k: int) -> Draft:
            self.now += 0.001
            self.asked += 1
            return NOTHING

    machine = Silent(lambda m: 0.05)
    assert run(probe(machine, source=machine)).drafts == pytest.approx({1: 0.02, 3: 0.02})
