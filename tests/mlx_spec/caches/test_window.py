"""A sliding window returns the right rows with the right mask, and goes back or says that it cannot."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlx_spec.caches.window import REACH, WindowCache
from mlx_spec.errors import UnsupportedCache


def rows(start: int, count: int) -> mx.array:
    """(1, 1, count, 1) keys that say which row they are of."""
    return mx.arange(start, start + count, dtype=mx.float32).reshape(1, 1, count, 1)


def feed(cache: WindowCache, count: int) -> list[int]:
    keys, values = cache.update_and_fetch(rows(cache.offset, count), -rows(cache.offset, count))
    assert mx.array_equal(keys, -values)
    assert mx.array_equal(keys, cache.keys_and_values()[0])
    return keys.flatten().tolist()


@settings(max_examples=40, deadline=None)
@given(
    max_size=st.integers(2, 20),
    narrower=st.integers(0, 18),
    counts=st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9)), max_size=30),
    return_array=st.booleans(),
)
def test_each_row_sees_its_window(max_size, narrower, counts, return_array):
    window = max(max_size - narrower, 1)
    cache = WindowCache(max_size)
    cache.step = 8
    for count, back in counts:
        first = cache.offset
        mask = cache.make_mask(count, window_size=window if narrower else None, return_array=return_array)
        seen = feed(cache, count)
        assert seen == list(range(max(first - max_size + 1, 0), first + count))
        own = np.arange(first, first + count)[:, None]
        allowed = (own >= seen) & (own - np.array(seen) < window)
        if mask is None:
            assert count == 1
            assert allowed.all()
        elif isinstance(mask, str):
            assert not return_array
            assert (allowed == (own >= seen)).all()
        else:
            assert (np.broadcast_to(np.array(mask), allowed.shape) == allowed).all()
        cache.trim(min(back, cache.offset))


@pytest.mark.parametrize("size", [4, 100, 1000])
def test_rows_leave_seldom_and_never_those_in_reach(size):
    cache = WindowCache(size)
    buffers = set()
    for _ in range(2000):
        feed(cache, 1)
        buffers.add(cache.keys.shape[2])
        assert cache.offset - cache.reach >= min(REACH, cache.offset)
    assert max(buffers) <= size + REACH + cache.step
    starts = cache.start
    feed(cache, 1)
    assert cache.start in (starts, cache.offset - size - REACH)


def test_trimming_beyond_the_reach_raises():
    cache = WindowCache(8)
    for _ in range(8):
        feed(cache, 64)
    with pytest.raises(UnsupportedCache, match="reaches to"):
        cache.trim(400)
    assert cache.offset == 512
