"""The cost of going back is measured on every kind of cache."""

from __future__ import annotations

import itertools
import random

import pytest

from bench.studies.rollback import KINDS, measure


@pytest.mark.parametrize("name", KINDS)
def test_each_kind_goes_back(name):
    ticks = itertools.count()
    found = measure(KINDS[name], (8, 40), 2, order=random.Random(0), clock=lambda: float(next(ticks)))
    assert found["growth"] == {"value": 1.0, "low": 1.0, "high": 1.0}
    assert found["rollback_ms"] == found["forward_ms"] == {8: 1000.0, 40: 1000.0}
