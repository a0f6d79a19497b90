"""Every kind of end: what is shown, and caches that equal a fresh prefill of what is committed."""

from __future__ import annotations

import gc
from contextlib import nullcontext
from typing import Any

import mlx.core as mx
import pytest
from answers import answer, fresh_answer, run, tokens
from fresh import assert_like_fresh
from mlx_lm.generate import generate_step
from readable import PROMPT, READABLE, letters, with_ends, without_ends
from recorded import Recorded
from tiny import tiny_loaded

from mlx_spec import Engine, EngineOptions, Limits, drafts
from mlx_spec.errors import BrokenInvariant
from mlx_spec.events import Round
from mlx_spec.text import TextStream, decoder


@pytest.fixture(scope="module")
def target() -> Any:
    return without_ends(tiny_loaded("llama", vocab=READABLE, seed=6))


@pytest.fixture(scope="module")
def reference(target: Any) -> list[int]:
    """The first 96 tokens of mlx-lm's own greedy decoding."""
    return [token for token, _ in generate_step(mx.array(PROMPT), target.model, max_tokens=96)]


def test_an_end_token_inside_an_accepted_block_ends_before_it(target, reference):
    """Case c07."""
    at = next(i for i in range(12, 90) if reference[i] not in reference[:i] and i % 5 not in (0, 4))
    ending = with_ends(target, reference[at])
    engine = Engine(ending, Recorded(PROMPT + reference), k=4)
    events = run(engine, max_tokens=len(reference))
    assert tokens(events) == reference[:at]
    assert events[-1].finish_reason == "stop"
    assert engine.session.committed == PROMPT + reference[:at]
    assert engine.metrics.completion_tokens == at
    assert engine.metrics.acceptance_rate == 1.0
    assert engine.metrics.accepted + engine.metrics.rounds - 1 == at
    assert sum(event.accepted for event in events) == engine.metrics.accepted, "one number for all"
    assert sum(event.k for event in events) == engine.metrics.drafted
    assert "".join(event.text for event in events) == ending.tokenizer.decode(reference[:at])
    assert_like_fresh(engine)


def test_an_end_token_as_the_first_token_gives_an_empty_answer(target, reference):
    engine = Engine(with_ends(target, reference[0]), "self", k=4)
    events = run(engine)
    assert tokens(events) == []
    assert events[-1].finish_reason == "stop"
    assert_like_fresh(engine)


def decoded(target: Any, ids: list[int]) -> str:
    return target.tokenizer.decode(ids)


@pytest.mark.parametrize("k", [0, 1, 2, 4, 7])
@pytest.mark.parametrize("at", range(20, 28))
def test_a_stop_string_over_two_rounds_is_never_shown(target, reference, at, k):
    """Case c08: wherever rounds fall, `stop` is three tokens' text."""
    stop = decoded(target, reference[at : at + 3])
    whole = decoded(target, reference)
    engine = Engine(target, Recorded(PROMPT + reference), k=k)
    events = run(engine, max_tokens=len(reference), stop=(stop,))
    text = "".join(event.text for event in events)
    assert events[-1].finish_reason == "stop_string"
    assert text == whole[: whole.index(stop)]
    assert decoded(target, tokens(events)) == text
    assert engine.session.committed == PROMPT + tokens(events)
    assert engine.metrics.completion_tokens == len(tokens(events))
    assert_like_fresh(engine)


def test_a_stop_string_that_begins_inside_a_token_leaves_that_token_out(target):
    ids = target.tokenizer.encode(" the", add_special_tokens=False)
    assert len(ids) == 1
    released = []
    stream = TextStream(decoder(target.tokenizer), ["e"])
    for token in [*target.tokenizer.encode("a", add_special_tokens=False), *ids]:
        released.append(stream.push(token, "plain"))
    assert [r.tokens for r in released] == [target.tokenizer.encode("a", add_special_tokens=False), []]
    assert released[-1].text == " th"
    assert released[-1].dropped == 1


def test_the_stop_string_wins_over_the_length_in_one_block(target, reference):
    """Case c09."""
    stop = decoded(target, reference[6:7])
    assert stop not in decoded(target, reference[:6])
    engine = Engine(target, Recorded(PROMPT + reference), k=8)
    events = run(engine, max_tokens=8, stop=(stop,))
    assert events[-1].finish_reason == "stop_string"
    assert tokens(events) == reference[:6]
    assert_like_fresh(engine)


@pytest.mark.parametrize("source", ["self", "recorded"])
def test_exactly_max_tokens_come_when_everything_is_accepted(target, reference, source):
    """Case c16."""
    engine = Engine(target, Recorded(PROMPT + reference) if source == "recorded" else source, k=8)
    events = run(engine, max_tokens=5)
    assert tokens(events) == reference[:5]
    assert events[-1].finish_reason == "length"
    assert_like_fresh(engine)


@pytest.mark.parametrize("source", [None, "self", "lookup"])
def test_stop_from_outside_keeps_what_was_shown(target, reference, source):
    engine = Engine(target, source, k=4)
    seen: list[Round] = []
    for event in engine.generate(PROMPT, limits=Limits(max_tokens=90)):
        seen.append(event)
        if len(tokens(seen)) >= 20:
            engine.stop()
    assert seen[-1].finish_reason == "interrupt"
    assert 20 <= len(tokens(seen)) < 30
    assert tokens(seen) == reference[: len(tokens(seen))]
    assert_like_fresh(engine)


@pytest.mark.parametrize("source", [None, "self", "lookup"])
def test_leaving_the_loop_early_leaves_caches_right(target, source):
    engine = Engine(target, source, k=4)
    for i, _ in enumerate(engine.generate(PROMPT)):
        if i == 5:
            break
    assert_like_fresh(engine)


def test_an_error_in_the_loop_body_leaves_caches_right(target):
    engine = Engine(target, "self", k=4)
    rounds = engine.generate(PROMPT)
    next(rounds)
    with pytest.raises(ZeroDivisionError):
        rounds.throw(ZeroDivisionError)
    assert tokens(run(engine, max_tokens=8)) == tokens(run(Engine(target, None), max_tokens=8))
    assert_like_fresh(engine)


class Fails(Exception):
    pass


def failing(function: Any, *, at: int, error: type[BaseException] = Fails) -> Any:
    """`function`, but its call number `at` does its work and then fails."""
    calls = 0

    def call(*args: Any) -> Any:
        nonlocal calls
        calls += 1
        result = function(*args)
        if calls == at:
            raise error
        return result

    return call


def where(engine: Engine, place: str) -> tuple[Any, str]:
    """The object and the method that `place` names."""
    source: Any = engine.source
    inner = {"target": engine.session.target, "source": source.cached}.get(place, source)
    return inner, {"target": "forward", "source": "forward"}.get(place, place)


@pytest.mark.parametrize("source", [None, "self", "lookup"])
def test_an_abandoned_answer_leaves_caches_right(target, source):
    engine = Engine(target, source, k=4)
    rounds = engine.generate(PROMPT)
    next(rounds), next(rounds)
    del rounds
    gc.collect()
    assert engine.metrics.finish_reason == "interrupt"
    assert_like_fresh(engine)


@pytest.mark.parametrize("place", ["target", "source", "propose", "commit"])
def test_ctrl_c_inside_a_round_is_an_interrupt_that_leaves_nothing_behind(target, place, monkeypatch):
    engine = Engine(target, "self", k=4)
    inner, method = where(engine, place)
    with monkeypatch.context() as patch:
        patch.setattr(inner, method, failing(getattr(inner, method), at=3, error=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            run(engine, max_tokens=40)
    assert engine.metrics.finish_reason == "interrupt"
    assert_like_fresh(engine)
    assert answer(engine, max_tokens=8) == fresh_answer(target, PROMPT, max_tokens=8)


@pytest.mark.parametrize("family", ["gemma3_text", "qwen3_next", "falcon_h1"])
@pytest.mark.parametrize("end", ["end token", "stop string", "length", "interrupt", "closed", "failure"])
def test_any_end_leaves_any_kind_of_cache_right(family, end, monkeypatch):
    plain = without_ends(tiny_loaded(family, vocab=READABLE, seed=8))
    whole = fresh_answer(plain, PROMPT, max_tokens=40)
    new = [i for i in range(8, 30) if whole[i] not in whole[:i]]
    model = with_ends(plain, whole[new[0]]) if end == "end token" else plain
    engine = Engine(model, "self", k=4)
    stop = (decoded(model, whole[new[-1] : new[-1] + 1]),) if end == "stop string" else ()
    seen: list[int] = []
    if end == "failure":
        monkeypatch.setattr(engine.source, "propose", failing(engine.source.propose, at=4))  # type: ignore[union-attr]
    with pytest.raises(Fails) if end == "failure" else nullcontext():
        for event in engine.generate(PROMPT, limits=Limits(max_tokens=33, stop=stop)):
            seen += event.tokens
            if len(seen) > 12 and end == "interrupt":
                engine.stop()
            if len(seen) > 12 and end == "closed":
                break
    assert seen == whole[: len(seen)]
    assert_like_fresh(engine)
    again = PROMPT + seen + letters(" go on")
    assert answer(engine, again, max_tokens=8) == fresh_answer(model, again, max_tokens=8)
    assert_like_fresh(engine)


def test_the_targets_rules_alone_end_an_answer(target, reference):
    """Case c13: the draft model's tokenizer has the same table and other ends."""
    draft = with_ends(target, reference[5])
    source = drafts.model_source(target, draft, EngineOptions())
    unused = next(token for token in range(READABLE) if token not in reference[:30])
    engine = Engine(with_ends(target, unused), source, k=4)
    assert answer(engine, max_tokens=30) == reference[:30]
    assert engine.metrics.acceptance_rate == 1


@pytest.mark.parametrize("place", ["target", "source"])
def test_caches_out_of_step_are_a_bug_that_says_so(target, place):
    engine = Engine(target, "self", k=4)
    rounds = engine.generate(PROMPT)
    next(rounds)
    if place == "target":
        engine.session.target.keep(30)
    else:
        engine.source._committed.append(5)  # type: ignore[union-attr]
    with pytest.raises(BrokenInvariant, match="bug in the engine"):
        list(rounds)
    assert engine.metrics.finish_reason == "error"
    assert answer(engine, max_tokens=8) == fresh_answer(target, PROMPT, max_tokens=8)
    assert_like_fresh(engine)


@pytest.mark.parametrize("at", [1, 2, 3])
@pytest.mark.parametrize("place", ["target", "source", "propose", "commit"])
def test_a_failure_leaves_nothing_behind(target, place, at, monkeypatch):
    """Whatever fails, and wherever: the next turn gives what a fresh engine gives."""
    engine = Engine(target, "self", k=4, prefill_chunk=8)
    first = tokens(run(engine, max_tokens=30))
    inner, method = where(engine, place)
    other = PROMPT[:4] + letters("quite another text that takes some chunks")
    with monkeypatch.context() as patch:
        patch.setattr(inner, method, failing(getattr(inner, method), at=at))
        with pytest.raises(Fails):
            run(engine, other, max_tokens=20)
    assert engine.metrics.finish_reason == "error"
    again = PROMPT + first
    assert tokens(run(engine, again, max_tokens=8)) == tokens(run(Engine(target, None), again, max_tokens=8))
    assert_like_fresh(engine)


@pytest.mark.parametrize("source", [None, "self", "lookup"])
def test_a_new_generation_ends_one_that_was_left_unfinished(target, source):
    engine = Engine(target, source, k=4)
    unfinished = engine.generate(PROMPT, limits=Limits(max_tokens=30))
    next(unfinished), next(unfinished)
    other = letters("something else")
    rounds = engine.generate(other, limits=Limits(max_tokens=20))
    seen = [next(rounds)]
    assert list(unfinished) == []
    unfinished.close()
    assert tokens(seen + list(rounds)) == tokens(run(Engine(target, None), other, max_tokens=20))


def test_closing_the_engine_ends_an_answer_that_was_left_unfinished(target):
    engine = Engine(target, "self", k=2)
    rounds = engine.generate(PROMPT)
    next(rounds)
    engine.close()
    assert list(rounds) == []
    assert (engine.session.committed, engine.session.target.rows) == ([], 0)
    assert engine.metrics.finish_reason == "interrupt"


def test_a_source_that_proposes_too_much_is_a_failure(target, reference):
    class Eager(Recorded):
        def propose(self, k):
            return super().propose(k + 1)

    engine = Engine(target, Eager(PROMPT + reference), k=4)
    with pytest.raises(ValueError, match="5 tokens instead of at most 4"):
        run(engine, max_tokens=20)


def test_stopping_while_the_prompt_is_read_commits_what_was_read(target):
    engine = Engine(target, "self", prefill_chunk=8)
    rounds = engine.generate(PROMPT)
    engine.stop()
    assert [event.finish_reason for event in rounds] == ["interrupt"]
    assert engine.session.committed == PROMPT[:1]
    assert engine.session.target.rows == 0
    assert tokens(run(engine, max_tokens=4)) == tokens(run(Engine(target, None), max_tokens=4))
