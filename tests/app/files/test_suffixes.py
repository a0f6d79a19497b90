"""The automaton of a text's substrings, against looking each of them up."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from app.files.suffixes import Suffixes

FEW = st.text("ab漢", max_size=20)


@given(FEW, st.lists(FEW, max_size=3))
def test_it_knows_the_longest_part_that_ends_at_each_place(text: str, others: list[str]) -> None:
    suffixes = Suffixes(text)
    for other in others:
        suffixes.see(other)
    assert suffixes.longest() == [
        max(n for n in range(end + 1) if n == 0 or any(text[end - n : end] in other for other in others))
        for end in range(len(text) + 1)
    ]
