"""The real assistant with tiny random models: templates, draft sources, the trace, two turns."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tiny import tiny_loaded

import models
from app.assistant.assistant import Assistant
from app.assistant.template import Message, Template
from app.settings.settings import Settings
from mlx_spec.errors import PairMismatch, PromptTooLong, SpecError
from mlx_spec.turns.session import common_prefix
from models import Loaded, ModelError

HI = [Message("user", "Hello you")]


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> dict[str, Loaded]:
    """The models that can be loaded, by reference."""
    loaded = {"builtin": tiny_loaded(seed=1), "other": tiny_loaded(seed=2)}

    def load(ref: str, dtype: str | None = None, progress: Callable[[str], None] | None = None) -> Loaded:
        return loaded[ref]

    monkeypatch.setattr(models, "load", load)
    return loaded


def load(**settings: object) -> Assistant:
    settings = {"max_tokens": 12, "k": 3} | settings
    return Assistant.load(Settings(**settings), lambda sentence: None)  # type: ignore[arg-type]


def answer(assistant: Assistant, messages: list[Message] = HI) -> list[int]:
    return [token for news in assistant.answer(messages) for token in news.tokens]


@pytest.mark.parametrize("draft", ["auto", "none", "lookup", "self", "model:other"])
def test_every_draft_gives_the_plain_answer(draft: str, shelf: dict[str, Loaded]) -> None:
    plain = answer(load(draft="none"))
    assistant = load(draft=draft)
    assert answer(assistant) == plain
    assert assistant.draft == ("lookup" if draft == "auto" else draft)
    assert assistant.metrics.completion_tokens == len(plain)
    assistant.close()


def test_the_template_s_own_system_prompt_stands_unless_one_is_set(shelf: dict[str, Loaded]) -> None:
    tokenizer = shelf["builtin"].tokenizer
    for system in (None, "", "Be brief."):
        turns = [] if system is None else [{"role": "system", "content": system}]
        turns.append({"role": "user", "content": "Hello you"})
        expected = tokenizer.apply_chat_template(turns, add_generation_prompt=True)
        assistant = load(system=system)
        answer(assistant)
        assert assistant.metrics.prompt_tokens == len(expected)


def test_a_model_without_a_template_goes_on_with_the_text(shelf: dict[str, Loaded]) -> None:
    tokenizer = shelf["builtin"].tokenizer
    tokenizer.has_chat_template = False
    assistant = load(system="Be brief.")
    assert assistant.warnings == [
        "tiny llama has no chat template: it goes on with your text instead of answering it."
    ]
    answer(assistant)
    assert assistant.metrics.prompt_tokens == len(tokenizer.encode("Be brief.\nHello you"))


def test_a_template_that_refuses_the_system_prompt_is_a_sentence(shelf: dict[str, Loaded]) -> None:
    shelf["builtin"].tokenizer.chat_template = "{{ raise_exception('No system role.') }}"
    with pytest.raises(ModelError, match=r"No system role.*Try without a system prompt\."):
        answer(load(system="Be brief."))


def test_a_second_turn_reuses_the_first(shelf: dict[str, Loaded]) -> None:
    assistant = load()
    text = "".join(news.text for news in assistant.answer(HI))
    answer(assistant, [*HI, Message("assistant", text), Message("user", "And then?")])
    assert assistant.metrics.reused_tokens > 0


def test_the_trace_is_appended_to_the_file(tmp_path: Path, shelf: dict[str, Loaded]) -> None:
    file = tmp_path / "trace.jsonl"
    file.write_text('{"event": "earlier"}\n')
    assistant = load(trace=file)
    answer(assistant)
    assistant.close()
    events = [json.loads(line)["event"] for line in file.read_text().splitlines()]
    assert events[:3] == ["earlier", "begin", "round"]
    assert events[-1] == "end"


def test_a_trace_that_cannot_be_written_fails_before_anything_is_loaded(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="cannot be written: No such file or directory"):
        load(trace=tmp_path / "missing" / "trace.jsonl", model="nobody/nothing")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
def test_a_trace_on_a_full_disk_ends_the_answer_in_a_sentence_and_closes(shelf: dict[str, Loaded]) -> None:
    assistant = load(trace=Path("/dev/full"))
    with pytest.raises(SpecError, match="The trace cannot be written: No space left on device"):
        answer(assistant)
    assistant.close()


def test_a_draft_with_another_tokenizer_is_refused(shelf: dict[str, Loaded]) -> None:
    shelf["other"] = replace(shelf["other"], tokenizer=tiny_loaded().tokenizer)
    shelf["other"].tokenizer._tokenizer.add_tokens(["<another>"])
    with pytest.raises(PairMismatch):
        load(draft="model:other")


TALK = [Message("user", "Hello you"), Message("assistant", "I am here."), Message("user", "And now?")]


@pytest.mark.parametrize(
    ("messages", "settings", "ways"),
    [
        (HI, {"context": 8}, r"Shorten it or raise --context \(to 512 at most\)\."),
        (HI, {"context": 8, "context_full": "drop"}, r"Shorten it or raise --context"),
        (TALK, {"context": 40}, "start a new chat or let the oldest turns go with --context-full drop"),
        ([Message("user", "the " * 600)], {}, r"Shorten it\.$"),
    ],
)
def test_a_prompt_longer_than_the_context_names_the_ways_out(
    messages: list[Message], settings: dict[str, object], ways: str, shelf: dict[str, Loaded]
) -> None:
    with pytest.raises(PromptTooLong, match=f"The prompt has .*{ways}"):
        answer(load(**settings), messages)


def test_the_oldest_turns_go_if_that_was_chosen_and_each_time_it_is_said(shelf: dict[str, Loaded]) -> None:
    said = "The context of 64 tokens is full: the model no longer sees the oldest 2 messages."
    expected = answer(load(context=64), TALK[2:])
    for assistant, choice in ((load(context=64, context_full="drop"), None), (load(context=64), "drop")):
        for _ in range(2):
            rounds = assistant.answer(TALK, context_full=choice)
            assert assistant.notices == [said]
            assert [token for news in rounds for token in news.tokens] == expected
        answer(assistant, HI)
        assert assistant.notices == []


def test_an_answer_that_fills_the_context_is_told_apart_from_a_long_one(shelf: dict[str, Loaded]) -> None:
    full, long = load(context=40, max_tokens=-1), load(max_tokens=5)
    for assistant in (full, long):
        answer(assistant)
        assert assistant.metrics.finish_reason == "length"
    assert full.metrics.context_full
    assert not long.metrics.context_full


def test_control_markers_in_a_prompt_are_told(shelf: dict[str, Loaded]) -> None:
    assistant = load()
    answer(assistant, [Message("user", "Say <|im_end|>")])
    assert assistant.notices == [
        "The prompt contains <|im_end|>: the model takes that for its own control marker and not for text."
    ]


def test_reading_a_prompt_is_told_chunk_by_chunk_and_can_be_stopped(shelf: dict[str, Loaded]) -> None:
    assistant = load()
    told: list[tuple[int, int]] = []

    def progress(read: int, total: int) -> None:
        told.append((read, total))
        if len(told) == 2:
            assistant.stop()

    rounds = list(assistant.answer([Message("user", "the " * 300)], progress=progress))
    assert len(told) == 2
    assert told[0][0] < told[1][0] < told[1][1]
    assert [news.finish_reason for news in rounds] == ["interrupt"]


STRIPS = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n"
    "{{ message.content.split('</think>')[-1] if message.role == 'assistant' else message.content }}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}"
)


def test_a_second_turn_without_the_first_thinking_reuses_what_is_common(
    shelf: dict[str, Loaded],
) -> None:
    """Case c28."""
    shelf["builtin"].tokenizer.chat_template = STRIPS
    assistant = load(draft="self")
    first = list(assistant.answer(HI))
    assert assistant.markers.opener == "<think>\n"
    thought = assistant.markers.opener + "".join(news.text for news in first)
    answered = [*HI, Message("assistant", f"{thought}</think>Yes."), Message("user", "And then?")]
    second = answer(assistant, answered)

    template = Template(shelf["builtin"].tokenizer, None)
    asked, prompt = template.tokens(HI), template.tokens(answered)
    assert assistant.metrics.reused_tokens == common_prefix(asked, prompt)
    assert assistant.metrics.prefilled_tokens == len(prompt) - 1 - assistant.metrics.reused_tokens
    session = assistant._engine.session
    assert session.committed == prompt + second
    assert session.target.rows == len(session.committed) - 1
    assert second == answer(load(draft="none"), answered), "as without an earlier turn"


def test_stopping_keeps_what_came(shelf: dict[str, Loaded]) -> None:
    assistant = load(max_tokens=-1)
    rounds = assistant.answer(HI)
    next(rounds)
    assistant.stop()
    assert [news.finish_reason for news in rounds][-1] == "interrupt"


def test_a_stop_before_the_first_round_is_not_lost(shelf: dict[str, Loaded]) -> None:
    assistant = load(max_tokens=-1)
    rounds = assistant.answer(HI)
    assistant.stop()
    assert [news.finish_reason for news in rounds] == ["interrupt"]


def test_names_are_fit_for_the_screen(shelf: dict[str, Loaded]) -> None:
    assert load().model == "tiny llama (float32)"
    shelf["builtin"] = replace(shelf["builtin"], info=replace(shelf["builtin"].info, quantization="4-bit"))
    assistant = load(context=64)
    assert (assistant.model, assistant.context_limit) == ("tiny llama (4-bit)", 64)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiny models are measured in milliseconds, which any other program disturbs."""
    monkeypatch.setattr("mlx_spec.measuring.measured.STEADY", math.inf)


def measured(assistant: Assistant) -> int:
    return sum(1 for _ in assistant.measure())


def test_what_one_run_measured_the_next_one_knows(shelf: dict[str, Loaded]) -> None:
    first = load(k="auto")
    assert measured(first)
    answer(first)
    assert first.keep() is None
    second = load(k="auto")
    assert second.warnings == []
    assert measured(second) == 0
    assert second.metrics.speculation()["verify_cost"].keys() >= {"1", "2", "5"}
    assert measured(load(k="auto", draft="self")), "another source is another pair"


@pytest.mark.parametrize("part", ["depths", "controller"])
def test_a_file_with_odd_contents_is_a_warning_and_measured_again(
    part: str, shelf: dict[str, Loaded], home: Path
) -> None:
    first = load(k="auto")
    measured(first)
    first.keep()
    (path,) = (home / "cache" / "measurements").glob("*.json")
    data = json.loads(path.read_text())
    data[part] = {"0": {"row_s": "fast"}}
    path.write_text(json.dumps(data))
    second = load(k="auto")
    assert [str(path) in warning for warning in second.warnings] == [True]
    assert measured(second)
    assert second.keep() is None
    assert load(k="auto").warnings == []


def test_a_run_that_learnt_nothing_writes_nothing(shelf: dict[str, Loaded], home: Path) -> None:
    assistant = load(draft="none")
    answer(assistant)
    assert measured(assistant) == 0
    assert assistant.keep() is None
    assert not (home / "cache").exists()
