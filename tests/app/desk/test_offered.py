"""The one offer of a better pair: by measured speed, once, and never in anybody's way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.desk.offered import better_pair
from app.settings.settings import Settings
from app.thread.events import Snapshot
from mlx_spec.metrics import Metrics
from models.stock import Stock

GB = 10**9
EMBEDDED = 98_000_000
FAST = replace(Snapshot.of(Metrics()), tok_s=400.0, target_bytes=EMBEDDED)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPECCHAT_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_the_largest_pair_that_fits_and_runs_is_named_once_with_its_size_and_a_bound_on_its_speed() -> None:
    said = better_pair(Stock(memory=16 * GB), Settings(), FAST)
    assert said is not None
    assert "Qwen2.5 7B, with drafts by Qwen2.5 0.5B" in said
    assert "at least 9 tokens/s" in said
    assert better_pair(Stock(memory=16 * GB), Settings(), FAST) is None


def test_a_machine_that_would_crawl_is_offered_less_or_nothing() -> None:
    slow = replace(FAST, tok_s=100.0)
    assert "Qwen2.5 3B" in (better_pair(Stock(memory=64 * GB), Settings(), slow) or "")
    assert better_pair(Stock(memory=64 * GB), Settings(), replace(FAST, tok_s=8.0)) is None


def test_who_has_chosen_a_model_or_has_no_answer_yet_is_told_nothing() -> None:
    stock = Stock(memory=16 * GB)
    assert better_pair(stock, Settings(model="org/mine"), FAST) is None
    assert better_pair(stock, Settings(), replace(FAST, tok_s=None)) is None
    assert better_pair(Stock(memory=2 * GB), Settings(), FAST) is None


def test_where_nothing_can_be_kept_nothing_is_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("SPECCHAT_HOME", str(tmp_path / "file"))
    assert better_pair(Stock(memory=16 * GB), Settings(), FAST) is None
