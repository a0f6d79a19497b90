"""A cached model, whatever was fed to it and taken back, is a fresh one that read what is left."""

from __future__ import annotations

import functools
from typing import Any

import mlx.core as mx
import pytest
from fresh import assert_same_next
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import tiny_config, tiny_model

from mlx_spec.caches import CachedModel, checkpoints
from mlx_spec.caches.chunked import ChunkedCache
from mlx_spec.caches.window import WindowCache
from mlx_spec.errors import UnsupportedCache

FAMILIES = ("llama", "gemma3_text", "gemma4_text", "llama4", "qwen3_5", "falcon_h1", "rwkv7")
V = 32

KEEP, RESTORE = (
    st.tuples(st.just("keep"), st.integers(0, 30)),
    st.tuples(st.just("restore"), st.integers(0, 300)),
)
FORWARD = st.tuples(st.just("forward"), st.sampled_from([1, 1, 1, 2, 3, 5, 7, 17, 40, 70]))
STEPS = st.lists(st.one_of(FORWARD, FORWARD, FORWARD, KEEP, RESTORE, st.just(("mark", 0))), max_size=24)


@functools.cache
def model(family: str) -> Any:
    small = {"sliding_window": 12} if "gemma" in family else {}
    small |= {"attention_chunk_size": 12} if family == "llama4" else {}
    return tiny_model(tiny_config(family, vocab=V, **small), seed=1)


@pytest.fixture(autouse=True)
def _small_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WindowCache, "step", 8)
    monkeypatch.setattr(ChunkedCache, "step", 8)


class Checked:
    """A cached model whose every answer is compared with a fresh one's."""

    def __init__(self, family: str) -> None:
        self.cached = CachedModel(model(family))
        self.text: list[int] = []
        self.marks: list[int] = []

    def feed(self, rows: int) -> mx.array:
        new = [(len(self.text) * 7 + i * i + rows) % V for i in range(rows)]
        self.text += new
        return self.cached.forward(mx.array(new))

    def forward(self, rows: int) -> None:
        logits = self.feed(rows)
        fresh = CachedModel(self.cached.model)
        assert mx.abs(logits - fresh.forward(mx.array(self.text))[-rows:]).max().item() < 1e-4
        self._agree()

    def keep(self, back: int) -> None:
        rows = max(len(self.text) - back, 0)
        try:
            self.cached.keep(rows)
        except UnsupportedCache:
            assert rows < len(self.text)
        else:
            self._cut(rows)
        self._agree()

    def restore(self, rows: int) -> None:
        rows = min(rows, len(self.text))
        best = max((mark for mark in self.marks if mark <= rows), default=0)
        got = self.cached.restore(rows)
        assert best <= got <= rows
        self._cut(got)
        self._agree()

    def mark(self, _: int) -> None:
        self.cached.mark()
        self.marks = [point.rows for point in self.cached._checkpoints._points]
        assert self.marks[-1:] in ([], [len(self.text)])
        self._agree()

    def _cut(self, rows: int) -> None:
        del self.text[rows:]
        self.marks = [mark for mark in self.marks if mark <= rows]

    def _agree(self) -> None:
        assert self.cached.rows == len(self.text)
        assert self.cached.in_step


def play(family: str, steps: list[tuple[str, int]]) -> None:
    checked = Checked(family)
    for name, number in steps:
        getattr(checked, name)(number)
    assert_same_next(checked.cached, [*checked.text, 5])


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=6, deadline=None)
@given(steps=STEPS)
def test_any_interleaving_equals_a_fresh_model(family, steps):
    play(family, steps)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=150, deadline=None)
@given(steps=STEPS)
def test_any_of_many_interleavings_equals_a_fresh_model(family, steps):
    play(family, steps)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("back", [1, 2, 7, 16])
def test_the_plain_loop_can_take_back_some_tokens_at_any_time(family, back):
    """Without a rollback in between: a stop string drops its tokens only at the end."""
    checked = Checked(family)
    checked.forward(30)
    for _ in range(40):
        mx.eval(checked.feed(1))
    checked.cached.keep(70 - back)
    checked._cut(70 - back)
    for _ in range(3):
        checked.forward(2)


@pytest.mark.parametrize("family", ["gemma3_text", "llama4", "qwen3_5"])
def test_going_back_too_far_is_refused_and_changes_nothing(family):
    checked = Checked(family)
    for _ in range(5):
        checked.forward(60)
    with pytest.raises(UnsupportedCache, match="reaches back to"):
        checked.cached.keep(20)
    checked.forward(2)
    assert checked.cached.restore(20) == 0


@pytest.mark.parametrize("family", FAMILIES)
def test_a_mark_is_come_back_to_from_anywhere(family):
    checked = Checked(family)
    checked.forward(34)  # far in a chunk
    checked.mark(0)
    for rows in (70, 70, 70, 3):
        checked.forward(rows)
    checked.restore(34)
    assert checked.cached.rows == 34
    checked.forward(3)
    checked.restore(35)
    assert checked.cached.rows == 35
    checked.forward(1)
    checked.forward(70)
    checked.restore(39)  # the mark still stands
    assert checked.cached.rows >= 34


@pytest.mark.parametrize("family", ["gemma3_text", "qwen3_5"])
def test_marks_are_few_and_never_of_text_that_was_taken_back(family):
    checked = Checked(family)
    for _ in range(12):
        mx.eval(checked.feed(70))
        checked.mark(0)
    assert len(checked.cached._checkpoints._points) == checkpoints.MOST
    checked.restore(650)
    assert checked.cached.rows == 630
    assert all(point.rows <= 630 for point in checked.cached._checkpoints._points)


def test_of_older_marks_those_stay_that_spare_most_reading():
    """Turns of 40 rows, each with a mark before its end, one at its end, and one where its answer ended."""
    checked = Checked("qwen3_5")
    for _ in range(6):
        for rows in (14, 6, 20):
            checked.forward(rows)
            checked.mark(0)
    assert len(checked.marks) == checkpoints.MOST
    assert {40, 80, 120, 160, 200} <= set(checked.marks)
    assert checked.marks[-3:] == [214, 220, 240]


def test_marks_keep_to_their_memory(monkeypatch):
    monkeypatch.setattr(checkpoints, "MOST_BYTES", 0)
    cached = CachedModel(model("qwen3_5"))
    for _ in range(3):
        cached.forward(mx.array([1, 2, 3]))
        cached.mark()
    assert [point.rows for point in cached._checkpoints._points] == [9]


def test_marking_one_point_twice_takes_one_place():
    cached = CachedModel(model("qwen3_5"))
    cached.forward(mx.array([1, 2, 3]))
    cached.mark()
    cached.mark()
    assert [point.rows for point in cached._checkpoints._points] == [3]


def test_where_all_rows_can_be_taken_back_a_mark_costs_nothing():
    cached = CachedModel(model("llama"))
    cached.forward(mx.array([1, 2, 3]))
    held = cached.kv_bytes
    cached.mark()
    assert cached.kv_bytes == held
    assert cached.restore(2) == 2


def test_a_layer_that_lost_count_is_an_error():
    cached = CachedModel(model("llama"))
    cached.forward(mx.array([1, 2, 3]))
    cached.layers[0].offset += 1
    cached.layers[0].trim = lambda n: n
    with pytest.raises(AssertionError, match=r"hold \[2, 4\] rows after rolling back to 2"):
        cached.keep(2)
