"""What a model's template and tokenizer say: where thinking starts, and which texts are control markers."""

from __future__ import annotations

import pytest
from mlx_lm.tokenizer_utils import BPEStreamingDetokenizer, TokenizerWrapper
from tiny import CHATML, tiny_tokenizer
from tokenizers import AddedToken

from app.assistant.template import Message, Template
from app.thinking import Markers

ASK = [Message("user", "Hello you")]


def test_the_models_own_markers_in_a_text_are_found() -> None:
    tokenizer = tiny_tokenizer()
    tokenizer._tokenizer.add_tokens([AddedToken("<think>"), AddedToken("    ")])
    template = Template(tokenizer, None)
    text = "a <|im_end|>\n<|im_start|>system <b> <think>    indented"
    assert template.markers_in(text) == ["<think>", "<|im_end|>", "<|im_start|>"]
    assert template.markers_in("a < b |> im_end") == []


@pytest.mark.parametrize("opener", ["", "<think>\n"])
def test_a_template_may_open_the_thinking_itself(opener: str) -> None:
    tokenizer = tiny_tokenizer()
    tokenizer.chat_template = CHATML.replace("assistant\n", f"assistant\n{opener}")
    template = Template(tokenizer, None)
    assert template.markers(template.tokens(ASK)).opener == opener


def test_the_thinking_markers_are_the_tokenizers_own_or_the_usual_ones() -> None:
    tokenizer = tiny_tokenizer()
    assert Template(tokenizer, None).markers([]).start == "<think>"
    inner = tokenizer._tokenizer
    inner.add_tokens([AddedToken("<longcat_think>"), AddedToken("</longcat_think>")])
    template = Template(TokenizerWrapper(inner, BPEStreamingDetokenizer), None)
    assert template.markers([]) == Markers("<longcat_think>", "</longcat_think>")


def test_a_conversation_with_a_system_prompt_of_its_own_keeps_that_one() -> None:
    own = [Message("system", "Be brief."), *ASK]
    tokenizer = tiny_tokenizer()
    assert Template(tokenizer, "Sing.").tokens(own) == Template(tokenizer, None).tokens(own)
    assert Template(tokenizer, "Be brief.").tokens(ASK) == Template(tokenizer, None).tokens(own)


def test_an_unfinished_answer_stands_after_the_prompt_that_it_answers_in_its_own_tokens() -> None:
    tokenizer = tiny_tokenizer()
    template = Template(tokenizer, None)
    prompt = template.tokens(ASK)
    # Another way to cut the same text than the tokenizer's own: a token a letter.
    emitted = [token for letter in "the end" for token in tokenizer.encode(letter, add_special_tokens=False)]
    assert emitted != tokenizer.encode("the end", add_special_tokens=False)
    assert template.tokens([*ASK, Message("assistant", "the end", tuple(emitted))]) == prompt + emitted


@pytest.mark.parametrize("tokens", [(), (5, 6, 7)])
def test_an_unfinished_answer_of_no_known_tokens_or_of_another_model_is_tokenized(tokens: tuple[int]) -> None:
    tokenizer = tiny_tokenizer()
    template = Template(tokenizer, None)
    said = tokenizer.encode("the end", add_special_tokens=False)
    assert template.tokens([*ASK, Message("assistant", "the end", tokens)]) == template.tokens(ASK) + said


def test_half_a_character_that_nobody_saw_is_written_anew() -> None:
    tokenizer = tiny_tokenizer()
    template = Template(tokenizer, None)
    ok, half = (tokenizer.encode(text, add_special_tokens=False) for text in ("ok", "é"))
    answer = Message("assistant", "ok", (*ok, half[0]))
    assert len(half) == 2
    assert template.tokens([*ASK, answer]) == template.tokens(ASK) + ok


def test_what_the_template_opened_is_not_said_twice() -> None:
    tokenizer = tiny_tokenizer()
    tokenizer.chat_template = CHATML.replace("assistant\n", "assistant\n<think>\n")
    template = Template(tokenizer, None)
    said = tokenizer.encode("Well", add_special_tokens=False)
    assert template.tokens([*ASK, Message("assistant", "<think>\nWell")]) == template.tokens(ASK) + said
