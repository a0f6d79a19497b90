"""Markdown that arrives in pieces: when a block is complete, and that nothing gets lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.tui.text.blocks import Block, Blocks


def blocks(text: str, size: int = 1) -> list[Block]:
    made = Blocks()
    for at in range(0, len(text), size):
        made.feed(text[at : at + size])
    made.finish()
    return made.closed


def test_a_paragraph_closes_when_the_next_one_begins() -> None:
    made = Blocks()
    made.feed("One.\n\n")
    assert made.closed == []
    made.feed("T")
    assert made.closed == [Block("One.")]
    assert made.tail == "T"


def test_a_fence_is_a_block_of_its_own_and_closes_with_its_mark() -> None:
    made = Blocks()
    made.feed("See:\n```python\na = 1\n\nb = 2\n")
    assert made.closed == [Block("See:")]
    assert (made.language, made.lines) == ("python", ["a = 1", "", "b = 2"])
    made.feed("```\n")
    assert made.closed[-1] == Block("a = 1\n\nb = 2", "python")


def test_a_longer_mark_holds_shorter_ones() -> None:
    assert blocks("````\n```\nx\n```\n````\n") == [Block("```\nx\n```", "")]


def test_a_fence_that_never_closes_is_code_to_the_end() -> None:
    assert blocks("```\na\n\nb") == [Block("a\n\nb", "")]


def test_a_heading_settles_at_once() -> None:
    made = Blocks()
    made.feed("# Title\n")
    assert made.closed == [Block("# Title")]


def test_blank_lines_inside_a_list_item_do_not_cut_it() -> None:
    text = "- one\n\n  more of one\n\n  ```\n  code\n\n  more\n  ```"
    assert blocks(text) == [Block(text)]


@pytest.mark.parametrize("text", ["#hashtag", "`` ` ``", "a ``` b", "``` a`b"])
def test_what_only_looks_like_a_beginning_is_text(text: str) -> None:
    assert blocks(text) == [Block(text)]


@given(
    # What follows the language of a fence on its line is no part of the answer, so nothing follows it here.
    st.lists(st.sampled_from(["a", " ", "\n", "\n\n", "```\n", "```py\n", "# ", "- ", "1. ", "> ", "|"])),
    st.integers(1, 7),
)
def test_pieces_of_any_size_give_the_same_blocks_and_lose_no_word(parts: list[str], size: int) -> None:
    text = "".join(parts)
    made = blocks(text, size)
    assert made == blocks(text, len(text) or 1)
    assert "".join(block.text for block in made).count("a") == text.count("a")
