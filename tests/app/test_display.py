"""Model text is shown, never obeyed (case c24)."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.display import neutralise


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("\x1b]52;c;aGVsbG8=\x07", "␛]52;c;aGVsbG8=␇"),
        ("\x9b2J", "\\x9b2J"),
        ("\x9d52;c;aGVsbG8=\x9c", "\\x9d52;c;aGVsbG8=\\x9c"),
        ("safe\b\b\b\bevil", "safe␈␈␈␈evil"),
        ("rm -rf\rls", "rm -rf␍ls"),
        ("nul \0 and del \x7f", "nul ␀ and del ␡"),
        ("a lone surrogate \ud800", "a lone surrogate \ufffd"),
    ],
)
def test_control_characters_become_visible(text: str, shown: str) -> None:
    assert neutralise(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "two\nlines\tand a tab",
        "family \U0001f468\u200d\U0001f469\u200d\U0001f467 and skin \U0001f44d\U0001f3fd and heart ❤\ufe0f",
        "עברית \u200fand العربية\u200e",
        "한국어 देवनागरी 中文",
        "[bold]markup[/bold] stays text",
    ],
)
def test_writing_is_left_alone(text: str) -> None:
    assert neutralise(text) == text


@given(st.text(), st.integers(0, 20))
def test_text_may_come_in_any_pieces(text: str, cut: int) -> None:
    assert neutralise(text[:cut]) + neutralise(text[cut:]) == neutralise(text)


@given(st.text())
def test_no_control_character_survives(text: str) -> None:
    assert not [c for c in neutralise(text) if unicodedata.category(c) == "Cc" and c not in "\n\t"]
