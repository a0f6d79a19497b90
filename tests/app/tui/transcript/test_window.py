"""A window onto a column whose heights are guesses: what is seen is right, and stays."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from app.tui.text.rows import BLANK, Row
from app.tui.transcript.entry import Entry
from app.tui.transcript.window import Window


class Block(Entry):
    """Rows of its own, of which it guesses another number."""

    def __init__(self, height: int, guess: int) -> None:
        super().__init__()
        self.height, self.guess = height, guess

    def estimate(self, width: int) -> int:
        return self.guess

    def rows(self, width: int) -> list[Row]:
        return [BLANK] * (self.height - 1)


HEIGHTS = st.integers(1, 12)
BLOCKS = st.lists(st.builds(Block, HEIGHTS, HEIGHTS), min_size=1, max_size=30)


def window(blocks: list[Block], height: int) -> Window:
    made = Window()
    made.resize(80, height)
    made.fill(list(blocks))
    return made


def view(window: Window) -> list[tuple[Entry, int]]:
    """What each row of the view shows: an entry, and which of its rows."""
    rows = range(window.y, min(window.y + window.height, window.column.total))
    return [(window.column.entries[at], row) for at, row in map(window.column.at, rows)]


def check(window: Window) -> None:
    entries = window.column.entries
    for entry, row in view(window):
        assert row < entry.height  # type: ignore[attr-defined]
    assert all(window.column.exact(at) for at in window.seen)
    assert all(
        window.column.top(at) == sum(map(window.column.height, range(at))) for at in range(len(entries))
    )
    assert 0 <= window.y <= max(window.column.total - window.height, 0)


@given(BLOCKS, st.integers(1, 15), st.lists(st.integers(-20, 20), max_size=20))
def test_whatever_is_scrolled_to_is_laid_out_and_small_steps_skip_no_row(
    blocks: list[Block], height: int, moves: list[int]
) -> None:
    shown = window(blocks, height)
    check(shown)
    for move in moves:
        before = view(shown)
        shown.scroll(max(min(shown.y + move, shown.column.total - height), 0))
        check(shown)
        if abs(move) < height and shown.column.total > height:
            after = view(shown)
            assert set(before) & set(after), "views that overlap have a row in common"


@given(BLOCKS, st.integers(1, 15), st.integers(1, 60), st.data())
def test_growth_anywhere_else_moves_nothing_that_is_seen(
    blocks: list[Block], height: int, back: int, data: st.DataObject
) -> None:
    shown = window(blocks, height)
    shown.scroll(max(shown.y - back, 0))
    if shown.following:
        return
    before = view(shown)
    at = data.draw(st.sampled_from([at for at in range(len(blocks)) if at not in shown.seen] or [None]))
    if at is None:
        return
    blocks[at].height += 5
    blocks[at].changed()
    shown.changed(at)
    check(shown)
    assert view(shown) == before


@given(BLOCKS, st.integers(1, 15))
def test_at_its_end_the_end_stays_in_view(blocks: list[Block], height: int) -> None:
    shown = window(blocks, height)
    shown.insert(len(blocks), Block(3, 9))
    check(shown)
    assert shown.y + height >= shown.column.total
    assert shown.unseen == 0


def test_what_comes_below_is_counted_until_it_is_seen() -> None:
    shown = window([Block(5, 5) for _ in range(10)], 10)
    shown.scroll(20)
    shown.insert(10, Block(4, 1))
    assert shown.unseen == 4
    shown.changed(10)
    assert shown.unseen == 4
    shown.scroll(shown.column.total - 12)
    assert shown.unseen == 2
    shown.end()
    assert (shown.unseen, shown.following) == (0, True)


@given(BLOCKS, st.integers(1, 15), st.integers(1, 15), st.integers(0, 60))
def test_another_height_shows_the_same_top_or_the_end(
    blocks: list[Block], height: int, other: int, back: int
) -> None:
    shown = window(blocks, height)
    shown.scroll(max(shown.y - back, 0))
    following, top = shown.following, view(shown)[0]
    shown.resize(80, other)
    check(shown)
    if following:
        assert shown.y == max(shown.column.total - other, 0)
    elif shown.column.total - other >= shown.y and other <= height:
        assert view(shown)[0] == top
