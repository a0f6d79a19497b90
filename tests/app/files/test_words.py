"""What a word is, and where a text may be cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.files.words import Words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't panic: it's fine", ["Don", "t", "panic", "it", "s", "fine"]),
        ("a = b+c | --", ["a", "=", "b", "c", "|", "--"]),
        ("snake_case 3.14", ["snake_case", "3", "14"]),
        ("회의는 세 시에", ["회의는", "세", "시에"]),
        ("用Python写，对吧", ["用", "Python", "写", "对", "吧"]),
        ("カメラで撮る。", ["カ", "メ", "ラ", "で", "撮", "る"]),
        ("cafe\u0301 हिन्दी می\u200cخواهم", ["cafe\u0301", "हिन्दी", "می\u200cخواهم"]),
        ("か\u3099 👍🏽 👨\u200d👩\u200d👧", ["か\u3099", "👍🏽", "👨\u200d👩\u200d👧"]),
        (" \u0301 x", ["\u0301", "x"]),
        ("", []),
    ],
    ids=range(10),
)
def test_words(text: str, words: list[str]) -> None:
    found = Words(text)
    assert [text[start:end] for start, end in zip(found.starts, found.ends, strict=True)] == words


@given(st.text("ab1_ .=漢か한\u0301\u200d👍🏽\n"))
def test_there_are_as_many_words_as_parts_between_white_space_and_none_is_cut(text: str) -> None:
    found = Words(text)
    assert len(found.starts) >= len(text.split())
    for start, end in zip(found.starts, found.ends, strict=True):
        assert found.cut[start]
        assert found.cut[end]
        assert text[start:end].split() == [text[start:end]]
    assert found.starts == sorted(found.starts)
