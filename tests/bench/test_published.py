"""Predictions against speedups that others published: order, sign, and a page that keeps up."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from bench import published
from bench.published import Pair, page, pairs

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def found() -> dict[str, Pair]:
    return {pair.id: pair for pair in pairs()}


def of(found: dict[str, Pair], start: str) -> list[Pair]:
    """The pairs whose id starts so, the fastest published one first."""
    return sorted((p for p in found.values() if p.id.startswith(start)), key=lambda p: -p.measured)


def test_the_sign_is_right_for_every_pair(found: dict[str, Pair]) -> None:
    assert [pair.id for pair in found.values() if not pair.right_sign] == []


def test_the_preprints_pairs_come_out_in_their_order(found: dict[str, Pair]) -> None:
    five = of(found, "preprint")
    assert [pair.measured for pair in five] == [1.57, 1.40, 0.52, 0.50, 0.33]
    assert all(a.predicted.mid > b.predicted.mid for a, b in pairwise(five))


def test_reports_with_their_acceptance_come_out_in_their_order(found: dict[str, Pair]) -> None:
    stated = [p for p in of(found, "m1ultra") if p.source == "#113"]
    assert len(stated) == 6
    assert all(a.predicted.mid > b.predicted.mid for a, b in pairwise(stated))


def test_m1_reports_are_below_one(found: dict[str, Pair]) -> None:
    reports = of(found, "m1")
    assert 0.60 < reports[-1].measured < reports[0].measured < 0.99
    assert all(pair.predicted.mid < 1 for pair in reports)


def test_the_error_is_stated_and_bounded(found: dict[str, Pair]) -> None:
    assert max(abs(pair.error) for pair in found.values()) < 0.30
    assert sum(pair.inside for pair in found.values()) >= len(found) - 2


def test_every_pair_says_what_is_known_and_what_is_assumed() -> None:
    for row in published.data()["pairs"]:
        assert row["known"]
        assert row["assumed"]
        assert row["source"] in published.data()["sources"]


def test_the_page_is_the_one_that_the_command_makes() -> None:
    assert (ROOT / "docs/plan.md").read_text(encoding="utf-8") == page(pairs())
