"""Models that cannot be had: one sentence with the next step, exit code 3, no traceback, empty stdout."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest
from tiny import tiny_loaded

import models


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with things that are no models."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("not a model")
    # A header that promises one tensor and five entries of metadata, and then ends.
    (tmp_path / "cut.gguf").write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 1, 5))
    (tmp_path / "lie.gguf").write_bytes(b"no GGUF at all")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("option", ["--model", "--draft"])
@pytest.mark.parametrize(
    "ref", ["nobody", "./missing", "./missing.gguf", "./empty", "notes.txt", "cut.gguf", "lie.gguf"]
)
def test_no_usable_model(
    option: str, ref: str, folder: Path, specchat: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = models.load
    tiny = tiny_loaded()
    monkeypatch.setattr(models, "load", lambda ref, **rest: tiny if ref == "builtin" else real(ref, **rest))
    outcome = specchat("ask", "Hi", option, ref if option == "--model" else f"model:{ref}", "--json")
    assert (outcome.code, outcome.out) == (3, "")
    *status, last = outcome.err.splitlines()
    assert all(line.startswith("specchat: ") for line in status)
    assert last.startswith("specchat: error: ")
    assert last.count(". ") >= 1, "a sentence, and then the next step"
    assert Path(ref).name in last
