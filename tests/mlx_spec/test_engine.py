"""The engine's loop on tiny random models: the same tokens as plain decoding, and every kind of end."""

from __future__ import annotations

import math
from typing import Any

import mlx.core as mx
import pytest
from fresh import assert_like_fresh
from mlx_lm.generate import generate_step
from mlx_lm.models.cache import RotatingKVCache
from readable import PROMPT, READABLE, letters, with_ends, without_ends
from recorded import Recorded
from tiny import tiny_loaded

from mlx_spec import Engine, Limits, Sampling, drafts
from mlx_spec.errors import EmptyPrompt, PromptTooLong, SpecError, UnsupportedCache
from mlx_spec.events import Round
from mlx_spec.options import EngineOptions
from mlx_spec.text import TextStream, decoder


@pytest.fixture(scope="module")
def target() -> Any:
    return without_ends(tiny_loaded("llama", vocab=READABLE, seed=6))


@pytest.fixture(scope="module")
def reference(target: Any) -> list[int]:
    """The first 96 tokens of mlx-lm's own greedy decoding."""
    return [token for token, _ in generate_step(mx.array(PROMPT), target.model, max_tokens=96)]


def run(
    engine: Engine, prompt: list[int] = PROMPT, sampling: Sampling = Sampling(), **limits: Any
) -> list[Round]:
    return list(engine.generate(prompt, sampling, Limits(**limits)))


def tokens(events: list[Round]) -> list[int]:
    return [token for event in events for token in event.tokens]


def sources(target: Any, reference: list[int]) -> dict[str, Any]:
    bad = tiny_loaded("llama", vocab=READABLE, layers=1, seed=9)
    text = PROMPT + reference
    return {
        "none": None,
        "lookup": "lookup",
        "self": "self",
        "bad model": drafts.model_source(target, bad, EngineOptions()),
        "recorded": Recorded(text),
        "recorded with errors": Recorded(text, wrong=set(range(0, len(text), 3))),
    }


@pytest.mark.parametrize("k", [0, 1, 2, 3, 5, 8, "auto"])
@pytest.mark.parametrize(
    "source", ["none", "lookup", "self", "bad model", "recorded", "recorded with errors"]
)
def test_greedy_text_is_mlx_lms_whatever_drafts(target, reference, source, k):
    engine = Engine(target, sources(target, reference)[source], k=k)
    events = run(engine, max_tokens=len(reference))
    assert tokens(events) == reference
    assert events[-1].finish_reason == "length"
    assert_like_fresh(engine)


@pytest.mark.parametrize("kv_bits", [4, 8])
@pytest.mark.parametrize("source", ["lookup", "self", "recorded with errors"])
def test_a_quantized_kv_cache_rolls_back_exactly(reference, source, kv_bits):
    target = without_ends(tiny_loaded("llama", vocab=READABLE, seed=1, head_dim=32))
    plain = tokens(run(Engine(target, None, kv_bits=kv_bits), max_tokens=64))
    draft = Recorded(PROMPT + plain, wrong=set(range(0, 200, 3))) if source.startswith("rec") else source
    engine = Engine(target, draft, k=4, kv_bits=kv_bits)
    assert tokens(run(engine, max_tokens=64)) == plain
    assert_like_fresh(engine, tolerance=1e-2)


@pytest.mark.parametrize("family", ["llama", "qwen2", "qwen3"])
def test_self_drafts_are_always_accepted(family):
    target = without_ends(tiny_loaded(family, vocab=READABLE, seed=2))
    engine = Engine(target, "self", k=4)
    run(engine, max_tokens=60)
    metrics = engine.metrics
    assert metrics.acceptance_rate == 1.0
    assert metrics.acceptance_by_position == [1.0] * 4
    assert metrics.acceptance_length == 5.0
    assert metrics.k_histogram == {4: 12}


def test_a_wrong_draft_costs_only_itself(target, reference):
    engine = Engine(target, Recorded(PROMPT + reference, wrong={len(PROMPT) + 2}), k=4)
    events = run(engine, max_tokens=10)
    assert [(event.k, event.accepted, len(event.tokens)) for event in events] == [
        (4, 2, 3),
        (4, 4, 5),
        (1, 1, 2),
    ]
    assert events[0].origins == ["draft:recorded", "draft:recorded", "target"]
    assert engine.metrics.acceptance_by_position == [1.0, 1.0, 0.5, 1.0]


def test_plain_steps_say_that_they_are_plain(target):
    events = run(Engine(target, None), max_tokens=3)
    assert [event.origins for event in events] == [["plain"]] * 3


def test_a_source_without_a_proposal_means_a_plain_step(target, reference):
    engine = Engine(target, Recorded(PROMPT + reference[:4]), k=4)
    events = run(engine, max_tokens=8)
    assert tokens(events) == reference[:8]
    assert [event.k for event in events] == [4, 0, 0, 0]


def test_sampling_with_a_seed_repeats_itself(target):
    engine = Engine(target, "self", k=3)
    hot = Sampling(temperature=1.0, top_p=0.9, seed=5)
    first, second = (tokens(run(engine, sampling=hot, max_tokens=40)) for _ in range(2))
    other = tokens(run(engine, sampling=Sampling(temperature=1.0, top_p=0.9, seed=6), max_tokens=40))
    assert first == second != other
    assert engine.metrics.seed == 6


def test_a_fresh_seed_is_reported_so_that_it_can_be_repeated(target):
    engine = Engine(target, None)
    first = tokens(run(engine, sampling=Sampling(temperature=2.0), max_tokens=20))
    seed = engine.metrics.seed
    assert tokens(run(engine, sampling=Sampling(temperature=2.0, seed=seed), max_tokens=20)) == first


# Ends


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
def test_a_context_with_room_for_three_gives_three(target, reference, source):
    """Case c15."""
    engine = Engine(target, source, k=8, context=len(PROMPT) + 3)
    events = run(engine, max_tokens=-1)
    assert tokens(events) == reference[:3]
    assert events[-1].finish_reason == "length"
    assert engine.session.target.rows < len(PROMPT) + 3
    assert_like_fresh(engine)


@pytest.mark.parametrize("source", [None, "self", "lookup", "recorded"])
def test_unlimited_tokens_run_to_the_end_of_the_context(target, reference, source):
    """Case c02."""
    draft = Recorded(PROMPT + reference) if source == "recorded" else source
    engine = Engine(target, draft, k=3, context=120)
    events = run(engine, max_tokens=-1)
    assert len(tokens(events)) == 120 - len(PROMPT)
    assert events[-1].finish_reason == "length"


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


def failing(function: Any, *, at: int) -> Any:
    """`function`, but its call number `at` does its work and then fails."""
    calls = 0

    def call(*args: Any) -> Any:
        nonlocal calls
        calls += 1
        result = function(*args)
        if calls == at:
            raise Fails
        return result

    return call


@pytest.mark.parametrize("at", [1, 2, 3])
@pytest.mark.parametrize("place", ["target", "source", "propose", "commit"])
def test_a_failure_leaves_nothing_behind(target, place, at, monkeypatch):
    """Whatever fails, and wherever: the next turn gives what a fresh engine gives."""
    engine = Engine(target, "self", k=4, prefill_chunk=8)
    first = tokens(run(engine, max_tokens=30))
    inner: Any = {"target": engine.session.target, "source": engine.source._model}.get(place, engine.source)  # type: ignore[union-attr]
    method = {"target": "forward", "source": "forward"}.get(place, place)
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


# Turns


@pytest.mark.parametrize("source", [None, "self", "lookup", "bad model"])
def test_a_second_turn_equals_a_fresh_run_and_reuses_the_first(target, reference, source):
    """Case c03: the first turn ends right on a bonus token."""
    draft = sources(target, reference)["bad model"] if source == "bad model" else source
    engine = Engine(target, draft, k=4)
    first = tokens(run(engine, max_tokens=10))
    second_prompt = PROMPT + first + letters(" and then")
    second = tokens(run(engine, second_prompt, max_tokens=20))
    assert engine.metrics.reused_tokens == len(PROMPT) + 10 - 1
    assert second == tokens(run(Engine(target, None), second_prompt, max_tokens=20))
    assert_like_fresh(engine)


@pytest.mark.parametrize("source", ["self", "lookup"])
def test_an_edited_turn_reuses_the_common_prefix(target, source):
    engine = Engine(target, source, k=4)
    run(engine, max_tokens=10)
    edited = PROMPT[:20] + letters("something else")
    got = tokens(run(engine, edited, max_tokens=20))
    assert engine.metrics.reused_tokens == 20
    assert got == tokens(run(Engine(target, None), edited, max_tokens=20))
    assert_like_fresh(engine)


def test_nothing_of_another_conversation_is_proposed(target, reference):
    """Case c20 for lookup: its index holds the present conversation only."""
    engine = Engine(target, "lookup", k=4)
    run(engine, max_tokens=30)
    new = [7, 8, 9, 10, 11, 12]
    list(engine.generate(new, limits=Limits(max_tokens=1)))
    assert engine.source is not None
    assert engine.source._tokens == engine.session.committed  # type: ignore[attr-defined]
    assert all(set(gram) <= set(engine.session.committed) for gram in engine.source._continued)  # type: ignore[attr-defined]


# Refusals


def keeps_its_first_rows() -> Any:
    """A model with a cache of a kind that cannot go back."""
    loaded = tiny_loaded("llama", vocab=READABLE, seed=6)
    loaded.model.make_cache = lambda: [RotatingKVCache(max_size=128, keep=4) for _ in loaded.model.layers]
    return without_ends(loaded)


@pytest.mark.parametrize("source", ["lookup", "self"])
def test_a_cache_that_cannot_roll_back_decodes_plainly_and_says_why(source):
    target = keeps_its_first_rows()
    engine = Engine(target, source, k=3)
    want = [token for token, _ in generate_step(mx.array(PROMPT), target.model, max_tokens=40)]
    assert tokens(run(engine, max_tokens=40)) == want
    assert engine.metrics.state == "off"
    assert "RotatingKVCache that keeps its first 4 rows" in (engine.metrics.reason or "")
    assert tokens(run(engine, PROMPT + want[:3], max_tokens=20)) == want[3:23]


def test_a_draft_model_that_cannot_roll_back_stands_down_and_says_why(target, reference):
    draft = keeps_its_first_rows()
    engine = Engine(target, drafts.model_source(target, draft, EngineOptions(k=3)), k=3)
    assert tokens(run(engine, max_tokens=20)) == reference[:20]
    assert engine.metrics.state == "off"
    assert "RotatingKVCache that keeps its first 4 rows" in (engine.metrics.reason or "")


def test_a_quantized_cache_is_refused_where_it_does_not_exist():
    with pytest.raises(UnsupportedCache, match="RotatingKVCache"):
        Engine(tiny_loaded("gemma3_text"), None, kv_bits=8)
    with pytest.raises(UnsupportedCache, match="heads of a multiple of 32"):
        Engine(tiny_loaded("llama", head_dim=16), None, kv_bits=8)


def test_bad_prompts_are_refused_before_anything_is_computed(target):
    engine = Engine(target, None, context=20)
    with pytest.raises(EmptyPrompt):
        engine.generate([])
    with pytest.raises(PromptTooLong, match="20"):
        engine.generate(list(range(20)))
    assert engine.session.committed == []


@pytest.mark.parametrize("token", [-1, READABLE, 10**6, 2**40])
def test_a_token_that_the_model_does_not_have_is_refused(target, token):
    with pytest.raises(SpecError, match="not among the model's 64"):
        Engine(target, None).generate([5, token, 6])


def test_one_string_is_no_list_of_stop_strings():
    with pytest.raises(ValueError, match="several strings"):
        Limits(stop="END")  # type: ignore[arg-type]


def test_a_context_beyond_the_models_own_is_refused(target):
    with pytest.raises(SpecError, match="512"):
        Engine(target, None, context=513)


def test_an_unknown_source_is_named(target):
    with pytest.raises(SpecError, match=r"'lokup'.*lookup"):
        Engine(target, "lokup")


@pytest.mark.parametrize("options", [{"k": -1}, {"k": 17}, {"k": "fast"}, {"kv_bits": 5}, {"context": 1}])
def test_options_out_of_range_are_refused(target, options):
    with pytest.raises(ValueError):
        Engine(target, None, **options)


@pytest.mark.parametrize(("allowed", "least"), [(None, 0), (5, 3)])
def test_a_bias_that_forbids_every_token_is_an_error(allowed, least):
    """An end token does not count while the answer is too short to end."""
    target = with_ends(tiny_loaded("llama", vocab=READABLE, seed=6), 5)
    bias = tuple((i, -math.inf) for i in range(READABLE) if i != allowed)
    with pytest.raises(SpecError, match="forbid every token"):
        Engine(target, None).generate(PROMPT, Sampling(logit_bias=bias, min_tokens=least))
