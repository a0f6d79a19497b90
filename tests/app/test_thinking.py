"""Thinking told apart from the answer, however its markers are cut up."""

from __future__ import annotations

import pytest

from app.thinking import Markers, Thinking
from mlx_spec.events import Round

WHOLE = "<think>\nA <b>? No.\n</think>\n\nYes: <think> is a tag."


def split(thinking: Thinking, *texts: str, finish: bool = True) -> tuple[str, str]:
    """The thought and the answer of rounds of one token each."""
    thought = said = ""
    for i, text in enumerate(texts):
        last = finish and i == len(texts) - 1
        news = Round([i], ["plain"], [("plain", text)], finish_reason="stop" if last else None)
        parts = thinking.take(news)
        thought += "".join(piece for _, piece in parts.thought)
        said += "".join(piece for _, piece in parts.said)
    return thought, said


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13, len(WHOLE)])
def test_any_cut_gives_the_same_two_texts(size: int) -> None:
    pieces = [WHOLE[at : at + size] for at in range(0, len(WHOLE), size)]
    assert split(Thinking(), *pieces) == ("A <b>? No.\n", "Yes: <think> is a tag.")


@pytest.mark.parametrize(
    "text", ["", "\n Hello", "<thin", "<b>x</b>", "Say <think> now</think>.", "</think>x"]
)
def test_an_answer_that_does_not_start_with_the_marker_is_all_answer(text: str) -> None:
    thinking = Thinking()
    assert split(thinking, *text, "") == ("", text)
    assert (thinking.tokens, thinking.unfinished) == (0, False)


def test_text_is_shown_as_soon_as_it_can_be_no_marker() -> None:
    thinking = Thinking()
    assert split(thinking, "<thi", finish=False) == ("", "")
    assert split(thinking, "s>", finish=False) == ("", "<this>")
    assert split(thinking, "<", finish=False) == ("", "<")


def test_thinking_that_the_prompt_opened_needs_no_start() -> None:
    markers = Markers().after("<|im_start|>assistant\n<think>\n")
    assert markers.opener == "<think>\n"
    assert split(Thinking(markers), "Hm", "m</th", "ink>", "\nNo") == ("Hmm", "No")
    assert Markers().after("<think>\n\n</think>\n\n").opener == ""


def test_an_unclosed_thought_is_no_answer_and_is_told() -> None:
    thinking = Thinking()
    assert split(thinking, "<think>", "so ", "long</thi") == ("so long</thi", "")
    assert thinking.unfinished
    assert thinking.tokens == 3


def test_tokens_of_thinking_are_counted_up_to_its_end() -> None:
    thinking = Thinking()
    split(thinking, "<think>", "a", "b", finish=False)
    assert thinking.tokens == 3
    split(thinking, "</think>", "\n\n", "Yes", ".")
    assert (thinking.tokens, thinking.unfinished) == (4, False)


def test_origins_stay_with_their_text() -> None:
    pieces = [("target", "<think>a</think>b"), ("draft:lookup", "c")]
    parts = Thinking().take(Round([1, 2], ["target", "draft:lookup"], pieces, finish_reason="stop"))
    assert (parts.thought, parts.said) == ([("target", "a")], [("target", "b"), ("draft:lookup", "c")])


def test_other_markers_are_the_models_own() -> None:
    markers = Markers("<|channel>thought", "<channel|>")
    assert split(Thinking(markers), "<|channel>", "thought\nx", "<channel|>", "y") == ("x", "y")
