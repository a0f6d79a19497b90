"""Any sequence of turns, stops, edits and failures: answers of a fresh engine, caches of a fresh prefill."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from answers import bad_model, tokens
from fresh import assert_like_fresh
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test
from readable import READABLE, letters, without_ends
from tiny import tiny_loaded

from mlx_spec import Engine, Limits

START = letters("the cat and the dog met a bird and a fish ") * 3
OPEN = letters("xyz")  # opens an answer, and is gone from the next prompt
LONGEST = 380  # tokens of text, so that an answer still fits

SOURCES = ["none", "lookup", "self", "bad model"]
NEW = st.lists(st.integers(3, 12), min_size=1, max_size=40)
LENGTH = st.integers(1, 24)
SOME = st.integers(1, 6)


@cache
def tiny(kind: str) -> Any:
    family, _, quantized = kind.partition(" ")
    changes = {"head_dim": 32} if quantized else {}
    if family == "gemma4_text":
        changes = {"vocab_size_per_layer_input": READABLE}
    return without_ends(tiny_loaded(family, vocab=READABLE, seed=8, **changes))


class Crash(Exception):
    pass


class Conversation(RuleBasedStateMachine):
    """One engine over whatever a person may do, checked after each step.

    Attributes:
        text: what the person sees: the conversation so far.
        ends: how long `text` was after each turn.
        prompt: the latest.
    """

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.target = tiny(kind)
        self.options: dict[str, Any] = {"kv_bits": 8} if kind.endswith("quantized") else {}
        self.tolerance = 2e-2 if self.options else 1e-4
        self.engine = Engine(
            self.target, bad_model(self.target, **self.options), k=3, prefill_chunk=32, **self.options
        )
        self.text = [*START]
        self.ends = [len(START)]
        self.prompt = [*START]

    def _expected(self, prompt: list[int], length: int) -> list[int]:
        fresh = Engine(self.target, None, **self.options)
        return tokens(list(fresh.generate(prompt, limits=Limits(max_tokens=length))))

    def _answer(
        self,
        prompt: list[int],
        length: int,
        seen: Callable[[list[int]], bool] = lambda got: True,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> list[int]:
        """Ask, go on while `seen` says so, and compare."""
        self.prompt = prompt
        got: list[int] = []
        rounds = self.engine.generate(prompt, limits=Limits(max_tokens=length), progress=progress)
        for event in rounds:
            got += event.tokens
            if not seen(got):
                break
        rounds.close()
        assert got == self._expected(prompt, length)[: len(got)]
        self._end_turn(prompt, got)
        return got

    def _end_turn(self, prompt: list[int], got: list[int]) -> None:
        self.text = [*prompt, *got]
        self.ends.append(len(self.text))

    def teardown(self) -> None:
        self.engine.close()

    def check(self) -> None:
        assert_like_fresh(self.engine, self.tolerance)

    @rule(
        source=st.sampled_from(["none", "lookup", "self", "bad model"]), k=st.sampled_from([1, 3, 6, "auto"])
    )
    def restart(self, source: str, k: int | str) -> None:
        """Another engine takes the session over."""
        saved = self.engine.export()
        draft = bad_model(self.target, **self.options) if source == "bad model" else source
        self.engine = Engine(self.target, draft, k=k, prefill_chunk=32, **self.options)
        self.engine.adopt(*saved)
        self.check()

    @precondition(lambda self: len(self.text) < LONGEST)
    @rule(new=NEW, length=LENGTH)
    def ask(self, new: list[int], length: int) -> None:
        assert len(self._answer(self.text + new, length)) == length
        self.check()

    @precondition(lambda self: len(self.text) < LONGEST)
    @rule(new=NEW, length=LENGTH)
    def ask_with_an_opening_that_goes_again(self, new: list[int], length: int) -> None:
        asked = self.text + new
        got = self._answer(asked + OPEN, length)
        self.text = asked + got[length // 2 :]
        self.ends[-1] = len(self.text)
        self.check()

    @precondition(lambda self: len(self.text) < LONGEST)
    @rule(new=NEW, after=SOME)
    def stop_in_mid_answer(self, new: list[int], after: int) -> None:
        def seen(got: list[int]) -> bool:
            if len(got) >= after:
                self.engine.stop()
            return True

        self._answer(self.text + new, 24, seen)
        self.check()

    @precondition(lambda self: len(self.text) < LONGEST)
    @rule(new=NEW, after=SOME)
    def leave_in_mid_answer(self, new: list[int], after: int) -> None:
        self._answer(self.text + new, 24, lambda got: len(got) < after)
        self.check()

    @precondition(lambda self: len(self.text) < LONGEST)
    @rule(new=NEW, chunks=SOME)
    def stop_while_the_prompt_is_read(self, new: list[int], chunks: int) -> None:
        count = iter(range(1, 10**6))

        def progress(done: int, total: int) -> None:
            if next(count) == chunks:
                self.engine.stop()

        self._answer(self.text + new, 8, progress=progress)
        self.check()

    @precondition(lambda self: len(self.text) < LONGEST)
    @rule(new=NEW, calls=SOME, error=st.sampled_from([Crash, KeyboardInterrupt]), of_source=st.booleans())
    def fail(self, new: list[int], calls: int, error: type[BaseException], of_source: bool) -> None:
        """A forward fails after it did its work."""
        cached = getattr(self.engine.source, "cached", None) if of_source else self.engine.session.target
        if cached is None:
            return
        forward, count = cached.forward, iter(range(1, 10**6))

        def failing(ids: Any) -> Any:
            logits = forward(ids)
            if next(count) == calls:
                raise error
            return logits

        cached.forward = failing
        try:
            self._answer(self.text + new, 12)
        except (Crash, KeyboardInterrupt):
            pass
        finally:
            del cached.forward
        self.check()

    @rule(length=LENGTH)
    def regenerate(self, length: int) -> None:
        prompt = self.prompt
        self.ends = [end for end in self.ends if end < len(prompt)]
        self._answer(prompt, length)
        self.check()

    @rule(new=NEW, length=LENGTH, back=SOME)
    def edit_an_earlier_turn(self, new: list[int], length: int, back: int) -> None:
        del self.ends[max(1, len(self.ends) - back) :]
        self.text = self.text[: self.ends[-1]]
        self._answer(self.text + new, length)
        self.check()

    @rule(new=NEW, length=LENGTH)
    def begin_another_chat(self, new: list[int], length: int) -> None:
        self.text, self.ends = [*START[:40], *new], [40 + len(new)]
        self._answer(self.text, length)
        self.check()


def play(kind: str, examples: int, steps: int) -> None:
    run_state_machine_as_test(
        lambda: Conversation(kind),
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            print_blob=True,
        ),
    )


@pytest.mark.parametrize("kind", ["llama", "gemma3_text", "qwen3_next"])
def test_a_conversation_finds_no_difference_from_fresh_runs(kind):
    play(kind, examples=4, steps=8)


WINDOWS, RECURRENT = ["gemma3_text", "gemma4_text", "gpt_oss"], ["qwen3_next", "falcon_h1", "lfm2", "mamba2"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["llama", "llama quantized", "deepseek_v3", *WINDOWS, *RECURRENT])
def test_long_conversations_find_no_difference_from_fresh_runs(kind):
    play(kind, examples=12, steps=25)
