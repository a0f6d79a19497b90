"""A session's course: every round counts, whatever was merged; memory stays the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.speculation.timeline import Timeline, words
from app.thread.events import Snapshot
from mlx_spec.events import Round
from mlx_spec.verdict.diagnose import Verdict

SNAPSHOT = Snapshot(0, None, None, None, None, 0, 0, "speculating", "lookup")
SPEEDUP = {"speedup": {"value": 1.5, "low": 1.2, "high": 1.9}}


def known(snapshot: Snapshot = SNAPSHOT) -> Snapshot:
    return replace(snapshot, verdict=Verdict("paying", None, "It pays.", SPEEDUP))


def course(*ks: int, snapshot: Snapshot = SNAPSHOT) -> Timeline:
    made = Timeline()
    made.begin()
    for k in ks:
        made.add(Round(k=k, accepted=k // 2), snapshot)
    return made


@pytest.mark.parametrize("rounds", [1, 7, 2048, 2049, 20_000])
def test_merging_loses_no_round(rounds: int) -> None:
    made = course(*(i % 5 for i in range(rounds)))
    assert made.rounds == rounds
    for width in (1, 10, 74):
        columns = made.columns(width)
        assert len(columns) <= width
        assert sum(span.rounds for span in columns) == rounds
        assert sum(span.k for span in columns) == made.total.k
        assert sum(span.answers for span in columns) == 1


def test_memory_does_not_grow_with_the_session() -> None:
    made = course(*[1] * 10_000)
    assert len(made._spans) <= Timeline.MOST


def test_answers_sources_and_rest_are_kept_where_they_were() -> None:
    made = course(4, 4)
    made.begin()
    made.add(Round(k=0), replace(SNAPSHOT, state="parked"))
    made.add(Round(k=3), known(replace(SNAPSHOT, source="model")))
    a, b, c, d = made.columns(10)
    assert [span.answers for span in (a, b, c, d)] == [1, 0, 1, 0]
    assert [span.parked for span in (a, b, c, d)] == [0, 0, 1, 0]
    assert [span.switched for span in (a, b, c, d)] == [False, False, False, True]
    assert d.speedup == (1.5, 1.2, 1.9)
    (whole,) = made.columns(1)
    assert (whole.switched, whole.answers, whole.source) == (True, 2, "model")


def test_the_latest_rounds_can_be_seen_alone() -> None:
    made = course(*range(100))
    assert [span.k for span in made.columns(10, latest=4)] == [96, 97, 98, 99]


def test_a_session_in_words() -> None:
    assert list(words(Timeline())) == ["Nothing was generated in this chat yet."]
    made = course(4, 4, 0, snapshot=known())
    assert list(words(made)) == [
        "3 rounds in 1 answer: 2 with drafts, 1 plain, of which 0 were parked or off.",
        "K was 4.0 on average with drafts, 4 at most; 4 of 8 drafted tokens were accepted (50%).",
        "K over the session, in 3 parts: 4.0, 4.0, 0.0.",
        "Speedup at the end of each: 1.50x, 1.50x, 1.50x.",
        "The latest is 1.50x plain decoding, with 95% confidence 1.20 to 1.90.",
    ]
