"""Prompts are read in chunks: with progress, until stopped, and by a source only when it is to be asked."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import pytest
from answers import answer, bad_model, fresh_answer, tokens
from fresh import assert_like_fresh
from hypothesis import given
from hypothesis import strategies as st
from readable import PROMPT, READABLE, letters, without_ends
from tiny import tiny_loaded

from mlx_spec import Engine, Limits
from mlx_spec.options import EngineOptions
from mlx_spec.policy.controller import State
from mlx_spec.policy.record import Record
from mlx_spec.policy.step import Step
from mlx_spec.turns.reading import CPU_CHUNK, CPU_QUANTIZED_CHUNK, METAL_CHUNK, chunk_ends, chunk_size

SIZES = st.integers(1, 40)


@pytest.fixture(scope="module")
def target() -> Any:
    return without_ends(tiny_loaded("llama", vocab=READABLE, seed=6))


@given(st.integers(0, 60), st.integers(0, 60), SIZES, st.sets(st.integers(-20, 130), max_size=4))
def test_chunks_cover_the_rows_and_end_at_every_mark(start, length, chunk, marks):
    end = start + length
    ends = chunk_ends(start, end, chunk, marks)
    assert ends == sorted(set(ends))
    assert all(0 < b - a <= chunk for a, b in pairwise([start, *ends]))
    assert (ends[-1:] or [start]) == [end]
    assert {mark for mark in marks if start < mark <= end} <= set(ends)


def test_the_chunk_follows_the_device_and_the_weights_unless_it_is_chosen(monkeypatch):
    model = tiny_loaded("llama").model
    assert chunk_size(EngineOptions(prefill_chunk=7), model) == 7
    monkeypatch.setattr(mx.metal, "is_available", lambda: True)
    assert chunk_size(EngineOptions(), model) == METAL_CHUNK
    monkeypatch.setattr(mx.metal, "is_available", lambda: False)
    assert chunk_size(EngineOptions(), model) == CPU_CHUNK
    nn.quantize(model, group_size=32, bits=4)
    assert chunk_size(EngineOptions(), model) == CPU_QUANTIZED_CHUNK


def reported(engine: Engine, prompt: list[int] = PROMPT, **limits: Any) -> list[tuple[int, int]]:
    seen: list[tuple[int, int]] = []
    list(engine.generate(prompt, limits=Limits(**limits), progress=lambda *counts: seen.append(counts)))
    return seen


def test_progress_counts_the_target_and_the_source_together(target):
    last = len(PROMPT) - 1
    engine = Engine(target, bad_model(target), k=2, prefill_chunk=20)
    both = 2 * last
    assert reported(engine, max_tokens=5) == [
        (20, both),
        (40, both),
        (last, both),
        (last + 20, both),
        (last + 40, both),
        (both, both),
    ]
    assert engine.metrics.prefilled_tokens == engine.metrics.source_prefilled_tokens == last


@pytest.mark.parametrize("source", [None, "lookup"])
def test_progress_without_a_model_that_drafts_is_the_targets(target, source):
    engine = Engine(target, source, prefill_chunk=40)
    assert reported(engine, max_tokens=5) == [(40, len(PROMPT) - 1), (len(PROMPT) - 1,) * 2]


def test_what_is_reused_is_not_counted_again(target):
    engine = Engine(target, "self", k=2, prefill_chunk=20)
    first = answer(engine, max_tokens=10)
    prompt = PROMPT + first + letters(" some more")
    new = len(prompt) - len(PROMPT) - len(first)
    assert reported(engine, prompt, max_tokens=3) == [(new, new)]
    assert engine.metrics.prefilled_tokens == new  # the pending token, and all but the last new one
    assert engine.metrics.source_prefilled_tokens == 0  # few enough for a proposal to read


def test_a_source_that_is_not_asked_reads_nothing(target):
    engine = Engine(target, "self", k="auto")
    assert reported(engine, max_tokens=5) == [(len(PROMPT) - 1,) * 2]
    assert engine.metrics.state == "measuring"
    assert engine.source.cached.rows == 0  # type: ignore[union-attr]


class Later:
    """K is 0 for some steps, then 2."""

    state: State = "speculating"
    most = 2
    record = Record((), 2)

    def __init__(self, steps: int) -> None:
        self._left = steps

    def next_k(self) -> int:
        return 0 if self._left > 0 else 2

    def begin(self, depth: int, behind: int) -> None:
        """The steps count over all answers."""

    def prefilled(self, tokens: int, seconds: float) -> None:
        """Steps alone count."""

    def observe(self, step: Step) -> None:
        self._left -= 1


def test_a_source_that_is_asked_in_mid_answer_catches_up_then(target):
    engine = Engine(target, "self", prefill_chunk=20)
    engine._controller = Later(10)
    got: list[int] = []
    seen: list[tuple[int, tuple[int, int]]] = []

    def note(*counts: int) -> None:
        seen.append((len(got), (counts[0], counts[1])))

    for event in engine.generate(PROMPT, limits=Limits(max_tokens=30), progress=note):
        got += event.tokens
    target_reads = len(PROMPT) - 1
    assert seen[2] == (0, (target_reads, target_reads))
    assert len({at for at, _ in seen[3:]}) == 1  # between two steps
    at = seen[3][0]
    assert 10 <= at <= 11  # one step may have been under way
    assert seen[-1] == (at, (2 * target_reads + at,) * 2)
    assert got == fresh_answer(target, PROMPT, max_tokens=30)
    assert_like_fresh(engine)


@pytest.mark.parametrize("chunks", range(1, 6))
def test_a_stop_is_heard_after_any_chunk_of_the_target_or_the_source(target, chunks):
    """Three chunks of the target, then three of the source."""
    engine = Engine(target, bad_model(target), k=2, prefill_chunk=20)
    seen: list[int] = []

    def stop_at(done: int, total: int) -> None:
        seen.append(done)
        if len(seen) == chunks:
            engine.stop()

    events = list(engine.generate(PROMPT, progress=stop_at))
    assert [event.finish_reason for event in events] == ["interrupt"]
    assert len(seen) == chunks
    assert engine.session.committed == (PROMPT[: 20 * chunks + 1] if chunks < 3 else PROMPT)
    assert engine.metrics.prefilled_tokens == min(20 * chunks, len(PROMPT) - 1)
    assert engine.metrics.context_used == len(engine.session.committed)
    assert engine.metrics.k == 2  # of the next round, as ever
    assert_like_fresh(engine)
    assert answer(engine, max_tokens=8) == fresh_answer(target, PROMPT, max_tokens=8)
    assert_like_fresh(engine)


@pytest.mark.parametrize("failure", [ZeroDivisionError, KeyboardInterrupt])
@pytest.mark.parametrize("chunks", [1, 2, 4])
def test_a_failing_progress_callback_leaves_caches_right(target, chunks, failure):
    engine = Engine(target, bad_model(target), k=2, prefill_chunk=20)
    seen: list[int] = []

    def fail(done: int, total: int) -> None:
        seen.append(done)
        if len(seen) == chunks:
            raise failure

    with pytest.raises(failure):
        tokens(list(engine.generate(PROMPT, progress=fail)))
    assert_like_fresh(engine)
    assert answer(engine, max_tokens=8) == fresh_answer(target, PROMPT, max_tokens=8)
    assert_like_fresh(engine)
