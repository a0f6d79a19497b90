"""Turns of one conversation: what the caches share with the next prompt is not read again.

Every kind of cache, for every way in which a chat goes on. Texts are longer than windows and than what
can simply be taken back.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import mlx.core as mx
import pytest
from answers import answer, bad_model, fresh_answer, sources
from fresh import assert_like_fresh
from mlx_lm.generate import generate_step
from readable import PROMPT, READABLE, letters, without_ends
from tiny import tiny_loaded

from mlx_spec import Engine, Limits
from mlx_spec.turns.reading import REWRITTEN

FAMILIES = ["llama", "gemma3_text", "qwen3_next", "falcon_h1", "lfm2"]
HANDFUL = REWRITTEN + 4
LONG = letters("the cat and the dog met a bird and a fish ") * 4
TURN = letters(" end of turn next ")  # what a template puts between two turns
THINK = letters("xyz")  # what a template opens an answer with, and takes back later


def tiny(family: str) -> Any:
    return without_ends(tiny_loaded(family, vocab=READABLE, seed=8))


@pytest.fixture(scope="module")
def target() -> Any:
    return tiny("llama")


@pytest.fixture(scope="module")
def reference(target: Any) -> list[int]:
    """The first 96 tokens of mlx-lm's own greedy decoding."""
    return [token for token, _ in generate_step(mx.array(PROMPT), target.model, max_tokens=96)]


@dataclass
class Chat:
    """Asks one engine, and compares every answer with a fresh engine's.

    Attributes:
        read: tokens that the target read for the latest prompt.
        source_read: tokens that the source read apart from its proposals.
    """

    target: Any
    engine: Engine
    read: int = field(init=False)
    source_read: int = field(init=False)

    def ask(self, prompt: list[int], length: int = 24) -> list[int]:
        got = answer(self.engine, prompt, max_tokens=length)
        assert got == fresh_answer(self.target, prompt, max_tokens=length)
        assert_like_fresh(self.engine)
        metrics = self.engine.metrics
        self.read, self.source_read = metrics.prefilled_tokens, metrics.source_prefilled_tokens
        assert metrics.reused_tokens + self.read == len(prompt) - 1
        return got


@pytest.fixture(params=FAMILIES)
def chat(request: Any) -> Chat:
    model = tiny(request.param)
    return Chat(model, Engine(model, "self", k=3))


def test_a_first_prompt_is_read_whole(chat):
    chat.ask(LONG)
    assert chat.read == chat.source_read == len(LONG) - 1


def test_the_same_prompt_again_reads_nothing(chat):
    first = chat.ask(LONG)
    for _ in range(2):
        assert chat.ask(LONG) == first
        assert (chat.read, chat.source_read) == (0, 0)


def test_the_next_turn_reads_what_is_new(chat):
    text = LONG + chat.ask(LONG)
    for _ in range(2):
        new = TURN + letters("and now something new")
        text += new
        text += chat.ask(text)
        assert chat.read == len(new)
        assert chat.source_read <= len(new) + 4


def test_an_opening_that_the_template_takes_back_costs_a_handful(chat):
    """Case c28: `<think>` opens the prompt, and neither it nor the thoughts are in the next one."""
    text = LONG
    for _ in range(2):
        new = chat.ask(text + THINK, length=40)[20:] + TURN
        text = text + new
        chat.ask(text + THINK)
        assert chat.read <= len(new) + len(THINK) + HANDFUL
        assert chat.source_read <= len(new) + len(THINK) + HANDFUL


def test_an_edited_turn_goes_back_to_the_end_of_the_one_before(chat):
    before = LONG + chat.ask(LONG)
    text = before + TURN + letters("the first try of a question")
    chat.ask(text, length=70)
    edited = before + TURN + letters("another question")
    chat.ask(edited)
    assert chat.read <= len(edited) - len(before) + 1
    assert chat.source_read <= len(edited) - len(before) + 4


def test_an_undone_turn_and_a_branch_go_back_likewise(chat):
    before = LONG + chat.ask(LONG)
    second = before + TURN + letters("a second question")
    second += chat.ask(second, length=60)
    third = second + TURN + letters("a third one")
    chat.ask(third, length=60)
    branch = second + TURN + letters("no rather this")
    chat.ask(branch, length=60)
    assert chat.read <= len(branch) - len(second) + 1
    undone = before + TURN + letters("elsewhere")
    chat.ask(undone)
    assert chat.read <= len(undone) - len(before) + 1


def test_an_end_that_a_stop_string_takes_back_is_read_again(chat):
    """Tokens of the stop string leave the caches, further back than a round."""
    model = chat.target
    whole = fresh_answer(model, LONG, max_tokens=40)
    stop = model.tokenizer.decode(whole[20:26])
    first = answer(chat.engine, LONG, max_tokens=40, stop=(stop,))
    assert chat.engine.metrics.finish_reason == "stop_string"
    assert_like_fresh(chat.engine)
    chat.ask(LONG + first + TURN)


@pytest.mark.parametrize("source", [None, "self", "lookup", "bad model"])
def test_a_second_turn_equals_a_fresh_run_and_reuses_the_first(target, reference, source):
    """Case c03 and R3: the first turn ends right on a bonus token.

    mlx-lm 0.32.2 leaves its target cache without the last token then, and its draft cache without the last
    two. A caller feeds only what is new, so the next turn differs at its first token.
    """
    draft = sources(target, reference)["bad model"] if source == "bad model" else source
    chat = Chat(target, Engine(target, draft, k=4))
    first = chat.ask(PROMPT, length=10)
    assert chat.engine.session.target.rows == len(PROMPT) + 10 - 1
    chat.ask(PROMPT + first + letters(" and then"))
    assert chat.engine.metrics.reused_tokens == len(PROMPT) + 10 - 1


@pytest.mark.parametrize("source", [None, "self", "lookup"])
def test_a_quantized_cache_outlives_its_turn(source):
    """Case c04 and R4: mlx-lm quantizes a copy, and leaves the cache that its caller keeps stale."""
    model = without_ends(tiny_loaded("llama", vocab=READABLE, seed=1, head_dim=32))
    engine = Engine(model, source, k=4, kv_bits=8)
    prompt = PROMPT + answer(engine, PROMPT, max_tokens=30) + letters(" and then")
    assert answer(engine, prompt, max_tokens=30) == answer(
        Engine(model, None, kv_bits=8), prompt, max_tokens=30
    )
    assert engine.metrics.prefilled_tokens == len(" and then")
    assert_like_fresh(engine, tolerance=1e-2)


@pytest.mark.parametrize("source", ["self", "lookup"])
def test_an_edited_turn_reuses_the_common_prefix(target, source):
    chat = Chat(target, Engine(target, source, k=4))
    chat.ask(PROMPT, length=10)
    chat.ask(PROMPT[:20] + letters("something else"))
    assert chat.engine.metrics.reused_tokens == 20


def test_a_parked_source_reads_later_what_it_missed(target):
    """It lags behind by a turn, and is right again as soon as it is asked."""
    engine = Engine(target, bad_model(target), k=2)
    chat = Chat(target, engine)
    controller = engine._controller
    text = PROMPT + chat.ask(PROMPT)
    engine._controller = Engine(target, "lookup")._controller  # measures plain steps first
    text += letters(" more")
    text += chat.ask(text, length=6)
    engine._controller = controller
    chat.ask(text + letters(" and more"))
    assert chat.source_read > 0


def test_nothing_of_another_conversation_is_proposed(target):
    """Case c20 for lookup: its index holds the present conversation only."""
    engine = Engine(target, "lookup", k=4)
    answer(engine, max_tokens=30)
    new = [7, 8, 9, 10, 11, 12]
    list(engine.generate(new, limits=Limits(max_tokens=1)))
    assert engine.source is not None
    assert engine.source._tokens == engine.session.committed  # type: ignore[attr-defined]
    assert all(set(gram) <= set(engine.session.committed) for gram in engine.source._continued)  # type: ignore[attr-defined]
