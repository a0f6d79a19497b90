"""Every way decodes the same answer; engines share the weights, and the cache where they may."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from readable import PROMPT, READABLE, without_ends
from timed import Clock
from tiny import tiny_loaded

from bench import peers
from bench.design import LOOP, PLAIN, Task, Turn, Way, sweep_ways
from bench.measure import Bench
from bench.sample import Sample
from bench.split import measure_splits
from bench.ways import EngineDecoder, Pair, engine_decoders
from mlx_spec import EngineOptions, Sampling

WAYS = sweep_ways(["lookup", "self", "model"], [3])
TASK = Task("p", "copy", PROMPT, max_tokens=24)


@pytest.fixture(scope="module")
def pair() -> Pair:
    target = without_ends(tiny_loaded("llama", vocab=READABLE, seed=6))
    draft = without_ends(tiny_loaded("llama", vocab=READABLE, seed=7))
    return Pair(target, draft, EngineOptions())


class Ticks:
    """A clock that moves on by itself."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def samples(pair: Pair, cold: bool, task: Task = TASK) -> dict[str, Sample]:
    decoders = engine_decoders(pair, WAYS, cold)
    bench = Bench(decoders, clock=Ticks())
    found = {name: bench.run(Turn(0, i, name, 0), task, 0) for i, name in enumerate(decoders)}
    assert all(found.values())
    return found  # type: ignore[return-value]


@pytest.mark.parametrize("cold", [True, False])
def test_every_way_gives_plains_answer(pair: Pair, cold: bool) -> None:
    found = samples(pair, cold)
    assert len({sample.digest for sample in found.values()}) == 1
    assert {sum(sample.emitted) for sample in found.values()} == {24}


def test_a_cold_run_reads_its_prompt_and_a_warm_one_only_the_first_time(pair: Pair) -> None:
    assert {sample.counts.reused for sample in samples(pair, cold=True).values()} == {0}
    first, *rest = samples(pair, cold=False).values()
    assert first.counts.reused == 0
    assert {sample.counts.reused for sample in rest} == {len(PROMPT) - 1}


@pytest.mark.parametrize("cold", [True, False])
def test_a_repeated_prompt_is_not_drafted_from_its_earlier_answer(pair: Pair, cold: bool) -> None:
    decoders = engine_decoders(pair, [Way("lookup K=3", "lookup", 3)], cold)
    bench = Bench(decoders, clock=Ticks())
    first, second = (bench.run(Turn(0, i, "lookup K=3", 0), TASK, 0) for i in range(2))
    assert first is not None
    assert second is not None
    assert (first.counts.drafted, first.counts.accepted) == (second.counts.drafted, second.counts.accepted)


def test_the_bare_loop_drafts_nothing_and_does_not_run_ahead(pair: Pair) -> None:
    found = samples(pair, cold=True)
    assert found[LOOP].counts.drafted == 0
    assert found[LOOP].counts.state == "speculating"
    assert found[PLAIN].counts.state == "off"


def test_a_draft_model_costs_memory_and_its_acceptance_is_counted(pair: Pair) -> None:
    found = samples(pair, cold=True)
    assert found["model K=3"].counts.draft_bytes > found["self K=3"].counts.draft_bytes > 0
    assert found["self K=3"].counts.accepted_at == found["self K=3"].counts.tested_at
    assert found["lookup K=3"].counts.draft_bytes == 0


def test_rounds_are_split_into_drafting_verifying_and_the_rest(pair: Pair) -> None:
    ways = [Way(LOOP, None, None), Way("self K=2", "self", 2), Way("self K=4", "self", 4)]
    splits = list(measure_splits(pair, ways, [TASK], clock=Ticks(), stopped=lambda: False, seed=0))
    rows = {split.way: {other.rows for other in splits if other.way == split.way} for split in splits}
    assert rows[LOOP] == {1}
    assert {way: max(found) for way, found in rows.items()} == {LOOP: 1, "self K=2": 3, "self K=4": 5}
    for split in splits:
        # One tick in each part that is timed, whatever ticks are between.
        assert split.verify_s == 1
        assert split.draft_s == 1
        assert split.rest_s > 0


@pytest.mark.parametrize(("k", "calls", "made"), [("auto", 9, 5), ("auto", 3, 3), (4, 9, 0)])
def test_auto_measures_while_nobody_waits_until_the_time_is_over(k: Any, calls: int, made: int) -> None:
    measured: list[int] = []

    def measure() -> Iterator[None]:
        for i in range(calls):
            measured.append(i)
            yield

    engine: Any = SimpleNamespace(options=EngineOptions(k=k), measure=measure)
    EngineDecoder(engine).rest(lambda: len(measured) == 5)
    assert len(measured) == made


def test_watching_an_engine_leaves_no_trace(pair: Pair) -> None:
    way = Way("self K=2", "self", 2)
    engine = pair.engine(way)
    for _ in measure_splits(pair, [way], [TASK], clock=Ticks(), stopped=lambda: True, seed=0):
        pass
    assert "forward" not in vars(engine.session.target)
    assert "propose" not in vars(engine.source)


def peer_samples(pair: Pair, clock: Any) -> dict[str, Sample | None]:
    ways = peers.peer_ways("lookup", drafts_with_model=False)
    decoders = {**engine_decoders(pair, ways, True), **peers.peer_decoders(pair, ways, clock)}
    bench = Bench(decoders, clock=clock, settle=peers.settle)
    return {name: bench.run(Turn(0, i, name, 0), TASK, 0) for i, name in enumerate(decoders)}


def test_mlx_lm_plain_and_speculative_give_the_same_answer(pair: Pair) -> None:
    found = peer_samples(replace(pair, draft=None), Ticks())
    assert set(found) == {
        "mlx-lm",
        "mlx-lm self K=2",
        "specchat",
        "specchat self K=2",
        "specchat lookup auto",
    }
    assert len({sample.digest for sample in found.values() if sample}) == 1


def test_mlx_lms_rounds_count_as_bursts(pair: Pair) -> None:
    found = peer_samples(replace(pair, draft=None), Ticks())
    plain, theirs = found["mlx-lm"], found["mlx-lm self K=2"]
    assert plain
    assert theirs
    assert set(plain.emitted) == {1}
    assert theirs.emitted == [3] * 8
    assert (theirs.counts.rounds, theirs.counts.accepted) == (8, 16)


def test_a_draft_model_takes_the_place_of_self() -> None:
    names = [way.name for way in peers.peer_ways("model", drafts_with_model=True)]
    assert {"mlx-lm model K=2", "specchat model K=2", "specchat model auto"} < set(names)


def test_mlx_dspark_takes_part_where_it_is_installed(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()

    def lookup_generate(target: Any, tokenizer: Any, *, on_text: Any, **options: Any) -> Any:
        assert target.model is pair.target.model
        assert options["prompt_ids"] == PROMPT
        clock.take(2.0)
        on_text("a")
        clock.take(23.0)
        return SimpleNamespace(token_ids=[9] * options["max_new_tokens"])

    package: Any = ModuleType("mlx_dspark")
    package.lookup_generate = lookup_generate
    package.Target = lambda model, tokenizer: SimpleNamespace(model=model)
    package.__spec__ = SimpleNamespace(name="mlx_dspark")
    monkeypatch.setitem(sys.modules, "mlx_dspark", package)
    way = peers.peer_ways("lookup", drafts_with_model=False)[-1]
    decoders = peers.peer_decoders(pair, [way], clock)
    sample = Bench(decoders, clock=clock).run(Turn(0, 0, way.name, 0), TASK, 0)
    assert sample is not None
    assert (sample.ttft_s, sample.tokens, sample.seconds) == (2.0, 23, 23.0)


def test_prompts_that_a_peer_cannot_sample_are_told() -> None:
    assert peers.takes(TASK)
    assert peers.takes(replace(TASK, sampling=Sampling(temperature=0.7, top_p=0.9, seed=3)))
    assert not peers.takes(replace(TASK, sampling=Sampling(presence_penalty=1.0)))
