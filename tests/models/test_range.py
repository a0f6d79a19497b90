"""Ranges: what is known stays known, and a result holds every value that its parts allow."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from models.range import Range

positive = st.floats(0.01, 100)
ranges = st.lists(positive, min_size=3, max_size=3).map(lambda values: Range(*sorted(values)))


def inside(value: float, found: Range) -> bool:
    return found.low * (1 - 1e-9) <= value <= found.high * (1 + 1e-9)


@given(a=ranges, b=ranges, factor=positive)
def test_results_hold_what_their_parts_allow(a: Range, b: Range, factor: float) -> None:
    for x in (a.low, a.mid, a.high):
        assert inside(x * factor, a * factor)
        assert inside(x**3, a.map(lambda value: value**3))
        for y in (b.low, b.mid, b.high):
            assert inside(x + y, a + b)
            assert inside(x / y, a / b)


def test_what_is_known_stays_known() -> None:
    assert (Range.exactly(6) + Range.exactly(2)) / Range.exactly(4) == Range.exactly(2)


def test_a_span_has_its_geometric_middle() -> None:
    assert Range.spanning([9, 3, 1]) == Range(1, 3, 9)
