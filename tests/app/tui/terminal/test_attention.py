"""A person who looks elsewhere is called back when a long answer ends; nobody else is disturbed."""

from __future__ import annotations

import pytest

from app.tui.terminal.attention import LONG, signal

WORDS = "specchat: the answer is complete"


@pytest.mark.parametrize(
    ("environ", "written"),
    [
        ({}, "\a"),
        ({"TERM_PROGRAM": "Apple_Terminal"}, "\a"),
        ({"TERM_PROGRAM": "iTerm.app"}, f"\x1b]9;{WORDS}\a"),
        ({"TERM": "xterm-kitty"}, f"\x1b]9;{WORDS}\a"),
        ({"TERM_PROGRAM": "iTerm.app", "TMUX": "x"}, "\a"),
    ],
)
def test_a_long_answer_calls_in_the_terminals_way(environ: dict[str, str], written: str) -> None:
    assert signal(LONG + 1, focused=False, words=WORDS, environ=environ) == written


def test_a_short_answer_or_a_person_who_looks_is_left_alone() -> None:
    assert signal(LONG, focused=False, words=WORDS, environ={}) == ""
    assert signal(LONG * 9, focused=True, words=WORDS, environ={}) == ""


def test_a_title_in_the_words_is_not_obeyed() -> None:
    written = signal(99, focused=False, words="a\x07b\x1b]0;c", environ={"TERM_PROGRAM": "ghostty"})
    assert written == "\x1b]9;a␇b␛]0;c\a"
