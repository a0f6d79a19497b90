"""What is on this machine, told from files: in every place, whole or not, with no weight read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import gguf_file
import numpy as np
import pytest
from mlx.utils import tree_flatten
from mlx_lm.utils import MODEL_REMAPPING
from tiny import VOCAB, save_tiny, tiny_config, tiny_loaded, tiny_model, tiny_tokenizer

from models import load, locations
from models.installed import RENAMED, describe, installed

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(autouse=True)
def no_builtin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the embedded model, so that a list is what the test put there."""
    from models import builtin
    from models.errors import ModelMissing

    def find() -> Path:
        raise ModelMissing("The builtin model is not installed.", "")

    monkeypatch.setattr(builtin, "find", find)


def in_hub(repository: str, *, main: bool = True, **changes: Any) -> Path:
    """A fetched repository with a tiny model; its folder."""
    home = locations.hub_dir() / f"models--{repository.replace('/', '--')}"
    folder = save_tiny(home / "snapshots" / COMMIT, tiny_loaded(**changes), tiny_config(**changes))
    if main:
        (home / "refs").mkdir()
        (home / "refs" / "main").write_text(COMMIT)
    return folder


def test_a_fetched_model_is_listed_with_its_size_and_what_it_needs() -> None:
    folder = in_hub("someone/tiny-llama")
    (model,) = installed()
    assert (model.ref, model.name, model.kind) == ("someone/tiny-llama", "tiny-llama", "hub")
    assert (model.family, model.rows, model.problem) == ("llama", VOCAB, "")
    assert model.size is not None
    weights = (folder / "model.safetensors").stat().st_size
    assert 0.95 * weights < model.size.nbytes < weights
    assert model.need is not None
    assert model.need.total > model.size.nbytes


def test_a_commit_that_was_pinned_is_named_with_it() -> None:
    in_hub("someone/tiny", main=False)
    assert [model.ref for model in installed()] == [f"someone/tiny@{COMMIT}"]


@pytest.mark.parametrize(
    "said", ["../../elsewhere", "/", "main", f"{COMMIT[:39]}", f"{COMMIT}0", "0" * 999, "é"]
)
def test_a_branch_that_stands_at_no_commit_leads_nowhere(said: str) -> None:
    folder = in_hub("someone/tiny")
    home = folder.parents[1]
    save_tiny(home.parent / "elsewhere", tiny_loaded(), tiny_config())
    (home / "refs" / "main").write_text(said, encoding="utf-8")
    assert [model.ref for model in installed()] == [f"someone/tiny@{COMMIT}"]


def test_a_branch_that_is_a_pipe_is_not_waited_for() -> None:
    main = in_hub("someone/tiny").parents[1] / "refs" / "main"
    main.unlink()
    os.mkfifo(main)
    assert [model.ref for model in installed()] == [f"someone/tiny@{COMMIT}"]


def test_folders_that_were_named_are_listed_and_what_is_gone_is_not(tmp_path: Path) -> None:
    folder = save_tiny(tmp_path / "mine", tiny_loaded(), tiny_config())
    found = installed([str(folder), str(tmp_path / "gone"), "someone/never-fetched", str(folder)])
    assert [(model.ref, model.kind) for model in found] == [(str(folder), "folder")]


def test_a_damaged_model_is_listed_with_what_is_wrong() -> None:
    weights = in_hub("someone/cut") / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:5000])
    (model,) = installed()
    assert "is damaged" in model.problem
    assert model.need is None


def test_a_model_that_asks_to_run_code_is_listed_with_that() -> None:
    folder = in_hub("someone/code")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "model_file": "evil.py"}))
    assert "asks to run the Python file" in installed()[0].problem


def test_a_type_that_mlx_lm_does_not_know_is_said() -> None:
    folder = in_hub("someone/bert")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "model_type": "bert"}))
    assert installed()[0].problem == "mlx-lm has no model type bert."


def test_names_that_mlx_lm_takes_for_other_types_are_all_known() -> None:
    assert set(MODEL_REMAPPING) == RENAMED


def test_a_download_that_is_not_finished_is_listed_with_how_much_is_here() -> None:
    blobs = locations.hub_dir() / "models--someone--half" / "blobs"
    blobs.mkdir(parents=True)
    (blobs / f"{'a' * 64}.part").write_bytes(b"x" * 1234)
    (model,) = installed()
    assert (model.part, model.problem) == (1234, "Its download is not finished.")


def test_what_is_no_model_is_left_out() -> None:
    hub = locations.hub_dir()
    for name in ("datasets--a--b", "models--a--whisper", "models--odd", "other"):
        (hub / name / "snapshots" / COMMIT).mkdir(parents=True)
    (hub / "models--a--file").write_text("")
    assert installed() == []


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    config = tiny_config("llama")
    weights = {name: np.array(value) for name, value in tree_flatten(tiny_model(config).parameters())}
    gguf_file.write_model(tmp_path / "tiny.Q8_0.gguf", config, weights, {"": "Q8_0"})
    return tmp_path / "tiny.Q8_0.gguf"


def test_a_gguf_file_tells_the_same_before_and_after_its_conversion(gguf: Path) -> None:
    before = describe(str(gguf))
    load(str(gguf))
    after = describe(str(gguf))
    assert before is not None
    assert after is not None
    assert (before.family, before.rows, before.context) == (after.family, after.rows, after.context)
    tables = before.vocabulary(), after.vocabulary()
    assert tables[0] is not None
    assert tables[1] is not None
    assert tables[0].fingerprint == tables[1].fingerprint
    assert tables[0].get_vocab() == tables[1].get_vocab() == tiny_tokenizer().get_vocab()


def test_a_conversion_is_listed_by_its_file_and_by_itself_when_that_is_gone(gguf: Path) -> None:
    load(str(gguf))
    assert [(model.ref, model.kind) for model in installed()] == [(str(gguf), "gguf")]
    gguf.unlink()
    (left,) = installed()
    assert (left.kind, left.problem) == ("folder", "")


def test_a_gguf_file_that_was_cut_is_listed_with_what_is_wrong(gguf: Path) -> None:
    gguf.write_bytes(gguf.read_bytes()[:500])
    model = describe(str(gguf))
    assert model is not None
    assert "not a whole GGUF file" in model.problem


def test_it_reads_no_weights_and_loads_neither_mlx_nor_the_hubs_client(home: Path) -> None:
    in_hub("someone/tiny")
    code = (
        "import sys; from models.installed import installed; assert installed(); "
        "sys.exit(', '.join({'mlx', 'mlx_lm', 'transformers', 'huggingface_hub'} & sys.modules.keys()) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_reference_that_is_not_here_is_nothing() -> None:
    assert describe("someone/else") is None
    assert describe("builtin") is None
