"""docs/families.md says what the sweep of mlx-lm's model types finds."""

from __future__ import annotations

from collections.abc import Iterator

import mlx.core as mx
import pytest
from sweep import NOT_BUILT, SPECULATES, STANDS_DOWN, judge, model_types

from docs.families import TABLE


@pytest.fixture(scope="module")
def table() -> dict[str, list[str]]:
    """The cells of each line after its type."""
    lines = [line for line in TABLE.read_text().splitlines() if line.startswith("| `")]
    cells = [[cell.strip() for cell in line[1:-1].split("|")] for line in lines]
    return {family.strip("`"): others for family, *others in cells}


@pytest.fixture
def processor() -> Iterator[None]:
    device = mx.default_device()
    mx.set_default_device(mx.cpu)
    yield
    mx.set_default_device(device)


def test_every_model_type_has_a_line_and_none_is_wrong(table):
    assert sorted(table) == sorted(model_types())
    assert {cells[0] for cells in table.values()} <= {SPECULATES, STANDS_DOWN, NOT_BUILT}
    assert sum(cells[0] != NOT_BUILT for cells in table.values()) >= 40


@pytest.mark.parametrize("family", ["llama", "mamba", "plamo3", "olmo"])
@pytest.mark.usefixtures("processor")
def test_a_line_of_the_table_is_what_is_found(table, family):
    row = judge(family)
    verdict, caches, _, reason = table[family]  # how rows round is the processor's business
    assert (verdict, caches, reason) == (row.verdict, row.caches, row.reason)


@pytest.mark.slow
@pytest.mark.parametrize("family", model_types())
@pytest.mark.usefixtures("processor")
def test_the_verdict_of_the_table_is_what_is_found(table, family):
    assert table[family][0] == judge(family).verdict
