"""From text to rows: nothing vanishes, nothing acts, everything fits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.text import Text

from app.tui.text.blocks import Block
from app.tui.text.markdown import CODE, render
from app.tui.text.reading import Reading
from app.tui.text.rows import fold, wrap


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
        "- a\n\n  ```\n  some code that is wider than its list\n  ```",
        "שלום עולם, זו פסקה ארוכה למדי",
    ],
)
def test_rows_fit_their_width(text: str, width: int) -> None:
    if width >= 7:
        assert all(row.strip.cell_length <= width for row in render(Block(text), width))
    else:
        render(Block(text), width)


def test_wide_characters_are_cut_between_and_not_within() -> None:
    rows = fold(Text("日本語日本語"), 9, style=CODE)
    assert [row.strip.text.strip() for row in rows] == ["日本", "語日", "本語"]
    assert all(cell_len(row.strip.text) == 9 for row in rows)


def test_a_family_of_joined_emoji_is_one_character() -> None:
    family = "👨\u200d👩\u200d👧"
    assert [row.strip.text.strip() for row in fold(Text(family * 2), 6, style=CODE)] == [family, family]


def seen(block: Block, width: int, shift: int = 0) -> list[str]:
    """The rows as the screen shows them."""
    views = (row.view(width, shift)[:3] for row in render(block, width))
    return ["".join(part.text for part in view) for view in views]


def test_wide_code_keeps_its_lines_and_is_reached_sideways() -> None:
    block = Block("def f():\n    return 'a long line of code'", "python")
    assert seen(block, 20) == ["  python            ", "  def f():          ", "      return 'a lo ›"]
    assert seen(block, 20, 8)[1:] == ["‹                   ", "‹ rn 'a long line  ›"]
    assert seen(block, 20, 17)[2] == "‹ g line of code'   "


def test_a_table_that_has_no_room_keeps_its_columns_and_is_reached_sideways() -> None:
    block = Block("| a | b |\n|---|---|\n| some words in a cell | 一二三四五六七八九十 |")
    rows = render(block, 12)
    assert all(row.ground is not None for row in rows)
    assert all(row.width > 12 for row in rows[1:])
    assert sum("some words in a cell" in row.strip.text for row in rows) == 1


def test_a_table_of_many_columns_shows_each() -> None:
    block = Block("|" + "cell|" * 500 + "\n|" + "-|" * 500 + "\n|" + "datum|" * 500)
    text = "".join(row.strip.text for row in render(block, 60))
    assert (text.count("cell"), text.count("datum")) == (500, 500)


def test_nested_lists_keep_their_order_and_their_depth() -> None:
    text = "1. one\n   - a\n     - b\n2. two"
    assert text_of(Block(text)).split("\n") == ["1. one", "    • a", "       • b", "2. two"]


def test_right_to_left_text_stays_in_the_order_of_its_letters() -> None:
    line = "שלום **עולם** abc"
    assert text_of(Block(line)) == "שלום עולם abc"


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
