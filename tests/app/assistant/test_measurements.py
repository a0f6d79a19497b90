"""Measurements come back for the same key alone; a damaged file is said and costs nothing else."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from app.assistant import measurements
from app.assistant.measurements import MOST_FILES, Kept, Measurements, of_backend, of_pair
from models.loaded import Info

INFO = Info("org/model", "model", "llama", 512, 32, "float16", "4-bit", 1000, "abc")
KEPT = Kept({0: {"row_s": 0.05}, 1024: {"row_s": 0.06}}, {"hazards": [0.5]})


def key(info: Info = INFO, draft: str = "lookup", kv_bits: int | None = None) -> dict[str, object]:
    return {**of_backend(), **of_pair(info, draft, kv_bits)}


def test_what_was_written_is_read_by_the_same_key(tmp_path: Path) -> None:
    assert Measurements(tmp_path / "new", key()).write(KEPT) is None
    assert Measurements(tmp_path / "new", key()).read() == (KEPT, None)


def test_nothing_is_kept_at_first_and_that_is_no_news(tmp_path: Path) -> None:
    assert Measurements(tmp_path, key()).read() == (Kept(), None)


@pytest.mark.parametrize(
    "other",
    [
        key(replace(INFO, ref="org/other")),
        key(replace(INFO, revision="def")),
        key(replace(INFO, dtype="float32")),
        key(replace(INFO, quantization="8-bit")),
        key(replace(INFO, nbytes=1001)),
        key(draft="self"),
        key(kv_bits=8),
        {**key(), "mlx": "0.99"},
        {**key(), "mlx-lm": "0.99"},
        {**key(), "chip": "another"},
        {**key(), "system": "another"},
    ],
)
def test_any_other_pair_or_backend_has_a_file_of_its_own(tmp_path: Path, other: dict[str, object]) -> None:
    Measurements(tmp_path, key()).write(KEPT)
    assert Measurements(tmp_path, other).read() == (Kept(), None)


@pytest.mark.parametrize("name", ["LD_PRELOAD", "OPENBLAS_CORETYPE", "MLX_METAL_FAST_SYNCH"])
def test_variables_that_change_the_kernels_change_the_key(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(name, raising=False)
    before = of_backend()
    monkeypatch.setenv(name, "x")
    assert of_backend() != before
    monkeypatch.setenv("EDITOR", "vi")
    monkeypatch.delenv(name)
    assert of_backend() == before


@pytest.mark.parametrize(
    "damage",
    [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"format": 9}', b"[" * 100_000, b" " * (2 << 20)],
)
def test_a_damaged_file_is_said_and_can_be_written_anew(tmp_path: Path, damage: bytes) -> None:
    kept = Measurements(tmp_path, key())
    kept.write(KEPT)
    kept.path.write_bytes(damage)
    found, sentence = kept.read()
    assert found == Kept()
    assert sentence is not None
    assert str(kept.path) in sentence
    assert "measuring again" in sentence
    kept.write(KEPT)
    assert kept.read() == (KEPT, None)


def test_a_file_under_the_wrong_name_is_not_believed(tmp_path: Path) -> None:
    mine, other = Measurements(tmp_path, key()), Measurements(tmp_path, key(draft="self"))
    other.write(KEPT)
    other.path.rename(mine.path)
    assert mine.read()[0] == Kept()


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    sentence = Measurements(tmp_path / "file" / "in", key()).write(KEPT)
    assert sentence is not None
    assert "measures again" in sentence


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    kept = Measurements(tmp_path, key())
    kept.write(KEPT)
    with pytest.raises(ValueError):
        kept.write(Kept({0: {"row_s": float("nan")}}))
    assert kept.read() == (KEPT, None)
    assert list(tmp_path.iterdir()) == [kept.path]


def test_the_files_are_bounded_and_the_oldest_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measurements, "MOST_FILES", 3)
    assert MOST_FILES > 3
    files = [Measurements(tmp_path, {**key(), "number": i}) for i in range(5)]
    for age, kept in enumerate(files):
        kept.write(KEPT)
        os.utime(kept.path, (age, age))
    files[0].write(KEPT)
    left = set(tmp_path.iterdir())
    assert files[0].path in left
    assert len(left) == 3
    assert files[2].path not in left
    assert json.loads(files[4].path.read_text())["key"]["number"] == 4
