"""What a controller says is what the engine does: parked is plain decoding, and verdicts come in time."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
from tiny import tiny_loaded

from mlx_spec import Engine, Limits
from mlx_spec.drafts.base import Draft
from mlx_spec.drafts.model import ModelDraft
from mlx_spec.generation import JUDGE_EVERY
from mlx_spec.policy.controller import State
from mlx_spec.policy.step import Step
from mlx_spec.verdict.diagnose import Verdict

PROMPT = [30, 31, 32, 33, 40]


class Script:
    """A controller that names `ks` one after the other, each until it is done, and then 0."""

    most = 4
    record = None

    def __init__(self, *ks: int) -> None:
        self._ks = list(ks)
        self.steps: list[Step] = []

    @property
    def state(self) -> State:
        return "speculating" if self.next_k() else "parked"

    def begin(self, depth: int, behind: int) -> None:
        self.depth = depth
        self.behind = behind

    def prefilled(self, tokens: int, seconds: float) -> None:
        self.prefilled_tokens = tokens

    def next_k(self) -> int:
        return self._ks[0] if self._ks else 0

    def observe(self, step: Step) -> None:
        self.steps.append(step)
        if step.asked == self.next_k():  # a token that is under way comes before the source is asked
            del self._ks[:1]


class Numbered:
    """Gives numbers for verdicts."""

    given = seen = 0

    def observe(self, controller: Script) -> None:
        self.seen += 1

    def verdict(self, controller: Script) -> Verdict:
        self.given += 1
        return Verdict("parked", "verification", f"verdict {self.given}")


class Counting(ModelDraft):
    """Notes how many rows each forward reads, and each proposal."""

    def __init__(self, loaded: Any, options: Any) -> None:
        super().__init__("self", loaded.model, options, vocabulary=loaded.info.vocab_size)
        self.proposals = 0
        self.reads: list[int] = []
        forward = self.cached.forward

        def counted(tokens: mx.array) -> mx.array:
            self.reads.append(tokens.size)
            return forward(tokens)

        self.cached.forward = counted  # type: ignore[method-assign]

    def propose(self, k: int) -> Draft:
        self.proposals += 1
        return super().propose(k)


def scripted(*ks: int) -> tuple[Engine, Script, Counting, Numbered]:
    loaded = tiny_loaded("llama")
    plain = Engine(loaded, None)
    source = Counting(loaded, plain.options)
    made = Engine(loaded, source)
    made._controller, made._diagnosis = script, diagnosis = Script(*ks), Numbered()  # type: ignore[assignment]
    return made, script, source, diagnosis


def answer(made: Engine, tokens: int = 40) -> list[int]:
    return [t for r in made.generate(PROMPT, limits=Limits(max_tokens=tokens)) for t in r.tokens]


def plain_answer(tokens: int = 40) -> list[int]:
    return answer(Engine(tiny_loaded("llama"), None), tokens)


def test_while_parked_the_source_is_neither_asked_nor_fed() -> None:
    made, script, source, _ = scripted()
    assert answer(made) == plain_answer()
    assert (source.proposals, source.reads) == (0, [])
    assert [step.asked for step in script.steps] == [0] * len(script.steps)
    assert script.depth == len(PROMPT)


def test_on_restart_a_model_source_reads_all_that_it_missed_at_once() -> None:
    made, _, source, _ = scripted(*[0] * 20, 2)
    assert answer(made) == plain_answer()
    assert source.proposals == 1
    missed, *rest = source.reads
    assert missed >= 20
    assert all(rows == 1 for rows in rest[1:]), "and then it decodes"


def test_the_time_in_which_a_source_catches_up_is_told_with_the_round_that_needed_it() -> None:
    made, script, source, _ = scripted(*[0] * 20, 2)
    answer(made)
    reads = [step for step in script.steps if step.read]
    assert [step.asked for step in reads] == [2]
    assert reads[0].read == source.reads[0] == made.metrics.source_prefilled_tokens
    assert reads[0].reading_s > 0
    assert all(step.reading_s == 0 for step in script.steps if not step.read)


def test_before_it_names_k_a_controller_knows_how_much_a_source_has_to_read() -> None:
    made, script, _, _ = scripted(*[0] * 30, 2)
    long = PROMPT * 5
    list(made.generate(long, limits=Limits(max_tokens=40)))
    assert script.behind == script.prefilled_tokens == len(long) - 1
    lags = [step.behind for step in script.steps[:20]]
    assert lags == list(range(len(long), len(long) + 20))
    assert script.steps[-1].behind == 0 or script.steps[-1].behind > ModelDraft.FEW


def test_a_step_tells_what_was_asked_and_what_came() -> None:
    made, script, _, _ = scripted(3, 0, 0, 2)
    answer(made, 20)
    first = script.steps[0]
    assert (first.asked, first.drafted, first.emitted, first.depth) == (3, 3, 4, len(PROMPT))
    assert script.steps[1].asked == 0


def test_a_plain_step_asks_for_a_verdict_only_now_and_then() -> None:
    made, script, _, diagnosis = scripted()
    answer(made, 40)
    assert diagnosis.seen == len(script.steps) == 40
    at_start_at_change_and_end = 3
    assert diagnosis.given <= 40 // JUDGE_EVERY + at_start_at_change_and_end


def test_a_change_of_state_is_judged_at_once() -> None:
    made, _, _, _ = scripted(2, 2, 2)
    seen = []
    for _ in made.generate(PROMPT, limits=Limits(max_tokens=24)):
        verdict = made.metrics.verdict
        assert verdict is not None
        seen.append((made.metrics.state, verdict.sentence))
    states = [state for state, _ in seen]
    change = states.index("parked")
    assert seen[change][1] != seen[change - 1][1]


def test_the_last_word_of_an_answer_is_its_verdict() -> None:
    made, _, _, diagnosis = scripted(2)
    answer(made, 10)
    assert made.metrics.speculation()["verdict"] == {
        "kind": "parked",
        "cause": "verification",
        "sentence": f"verdict {diagnosis.given}",
    }
