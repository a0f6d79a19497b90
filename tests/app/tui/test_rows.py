"""From text to rows: nothing vanishes, nothing acts, everything fits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.text import Text

from app.tui.blocks import Block
from app.tui.markdown import code, render
from app.tui.reading import Reading
from app.tui.rows import wrap


def text_of(block: Block, width: int = 60) -> str:
    return "\n".join(row.strip.text.rstrip() for row in render(block, width))


@pytest.mark.parametrize(
    "text",
    [
        "[bold]not bold[/bold]",
        "a <b>tag</b> and <!-- a comment -->",
        "<div>\nblock\n</div>",
        "<https://example.org>",
        "&#27;[31m and &amp;",
        "[name]: https://example.org",
    ],
)
def test_what_is_no_markdown_here_stands_as_it_is(text: str) -> None:
    assert text_of(Block(text)) == text


def test_a_link_shows_where_it_leads_and_does_nothing() -> None:
    rows = render(Block("[here](https://example.org)"), 60)
    assert rows[0].strip.text.strip() == "here (https://example.org)"
    assert all(segment.style is None or segment.style.link is None for segment in rows[0].strip)


def test_lines_stay_where_the_model_broke_them() -> None:
    assert text_of(Block("roses\nviolets")) == "roses\nviolets"


def test_numbers_of_a_list_go_on_over_blocks() -> None:
    assert text_of(Block("7. seven\n8. eight")) == "7. seven\n8. eight"


@pytest.mark.parametrize(
    "text",
    [
        "\n".join("  " * i + f"- level{i}" for i in range(200)),
        ">" * 60 + " deep",
        "|" + "cell|" * 500 + "\n|" + "-|" * 500 + "\n|" + "datum|" * 500,
        "| a | b |\n|---|---|\n| one | two | three |",
        '[name](http://example.org "title")',
    ],
)
def test_a_layout_that_would_leave_words_out_is_not_used(text: str) -> None:
    assert "".join(text_of(Block(text)).split()) == "".join(text.split())


@pytest.mark.parametrize("width", [1, 2, 7, 20, 80])
@pytest.mark.parametrize(
    "text",
    [
        "日本語の長い文章です。",
        "# 見出し",
        "- a\n  - b\n    - c",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "> q",
        "`x` **y**",
    ],
)
def test_rows_fit_their_width(text: str, width: int) -> None:
    if width >= 7:
        assert all(row.strip.cell_length <= width for row in render(Block(text), width))
    else:
        render(Block(text), width)


def test_wide_characters_are_cut_between_and_not_within() -> None:
    rows = code(Text("日本語日本語"), 9)
    assert [row.strip.text.strip() for row in rows] == ["日本", "語日", "本語"]
    assert all(cell_len(row.strip.text) == 9 for row in rows)


def test_a_family_of_joined_emoji_is_one_character() -> None:
    family = "👨\u200d👩\u200d👧"
    assert [row.strip.text.strip() for row in code(Text(family * 2), 6)] == [family, family]


def test_a_copy_of_wrapped_rows_is_the_line_again() -> None:
    line = "the quick brown fox jumps over averyveryverylongword"
    rows = wrap(Text(line), 10)
    assert len(rows) > 4
    assert "".join(row.strip.text + row.joint for row in rows).removesuffix("\n") == line


def test_a_settled_line_is_laid_out_once() -> None:
    reading = Reading()
    reading.feed("```\n" + "x = 1\n" * 400)
    before = reading.rows(80)
    reading.feed("y")
    after = reading.rows(80)
    assert all(old is new for old, new in zip(before, after, strict=False))
    assert len(after) == len(before) + 1


JOINERS = "\u200d\ufe0f"  # they change how wide the character before them is
WRITING = "ab \t日\u3000\u0301\u05e9\u200b👩🏳🇩" + JOINERS


@given(st.text(st.sampled_from(WRITING), max_size=30), st.integers(0, 12))
def test_any_writing_can_be_broken_to_any_width_and_copied_again(line: str, width: int) -> None:
    rows = wrap(expanded := Text(line), width)
    assert "".join(row.strip.text + row.joint for row in rows) == expanded.plain.rstrip() + "\n"
    if not set(JOINERS) & set(line):
        assert all(row.strip.cell_length <= max(width, 2) for row in rows)  # 2: a wide character needs them
