"""Parts copied from files: marked where they stand, listed below, and no part of a copy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.chats.records import Span
from app.thinking import Markers
from app.tui.text.rows import Row
from app.tui.transcript.answer import Answer
from mlx_spec.events import Round

SHA = "1a2b3c4d5e6f" + "0" * 52


def span(text: str, part: str, first: int = 3, last: int = 7, path: str = "/home/me/notes.txt") -> Span:
    start = text.index(part)
    return Span(start, start + len(part), SHA, path, first, last)


def shown(text: str, *spans: Span, width: int = 60) -> list[Row]:
    answer = Answer()
    answer.expect(Markers())
    answer.add([Round([0], ["plain"], [("plain", text)])])
    answer.finish()
    answer.show_spans(spans)
    return answer.rows(width)


def marked(rows: list[Row]) -> str:
    """What is underlined, with the numbers after it."""
    return "".join(
        segment.text
        for row in rows
        for segment in row.strip
        if segment.style and (segment.style.underline or segment.style.meta.get("aside"))
    )


@pytest.mark.parametrize(
    ("text", "part", "seen"),
    [
        ("It says so. He came home. That is all.", "He came home.", "He came home.¹"),
        ("It **says that he** came.", "says that he** came", "says that he came¹"),
        ("It **says that he** came.", "says that he**", "says that he¹"),
        ("# The title", "The title", "The title¹"),
        ("- one two\n- three four", "three", "three¹"),
        ("- a\n  - deep word\n", "deep word", "deep word¹"),
        ("| a | b |\n|---|---|\n| one two | three |", "two", "two¹"),
        ("```python\nx = 1\ny = 2\n```\n", "y = 2", "y = 2¹"),
        ("- in a list\n\n  ```\n  code here\n  ```", "code here", "code here¹"),
        ("some `code with` words", "code with", "code with¹"),
        (r"two \* stars", r"two \* stars", "two * stars¹"),
        ("> quoted words here", "words", "words¹"),
        ("日本語の文章です", "文章", "文章¹"),
        ("\x1b[1m odd \x9b words", "words", "words¹"),
        ("<think>He came.</think>\n\nHe came.", "He came.", ""),
    ],
)
def test_what_was_copied_is_underlined_and_numbered(text: str, part: str, seen: str) -> None:
    rows = shown(text, span(text, part))
    assert marked(rows[:-1]) == seen


def test_a_part_over_several_blocks_has_its_number_in_each() -> None:
    text = "One two.\n\nThree four.\n\nFive."
    assert marked(shown(text, span(text, "two.\n\nThree four"))[:-1]) == "two.¹Three four¹"


def test_each_source_is_listed_once_in_words() -> None:
    text = "alpha beta gamma"
    spans = [span(text, "alpha"), span(text, "beta", 9, 9, "b.txt"), span(text, "gamma")]
    rows = [row.strip.text.rstrip() for row in shown(text, *spans)]
    assert rows == [
        "alpha¹ beta² gamma¹",
        "",
        "¹ copied from notes.txt, lines 3-7 · sha256 1a2b3c4d…",
        "² copied from b.txt, line 9 · sha256 1a2b3c4d…",
    ]


def test_a_copy_has_neither_numbers_nor_the_list() -> None:
    text = "alpha beta"
    rows = shown(text, span(text, "alpha"))
    assert "".join(row.copied(0, None) + row.joint for row in rows).rstrip() == text


@given(st.text(st.sampled_from("ab *_`>-#|[]()\\\n日"), max_size=40), st.integers(0, 40), st.integers(1, 20))
def test_marks_change_no_word_of_any_markdown(text: str, start: int, length: int) -> None:
    end = min(start + length, len(text))
    spans = [Span(start, end, SHA, "f", 1, 1)] if start < end else []
    unnumbered = [row.copied(0, None).split() for row in shown(text, *spans)]
    plain = [row.copied(0, None).split() for row in shown(text)]
    assert "".join(map("".join, unnumbered)) == "".join(map("".join, plain))
