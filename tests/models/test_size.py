"""How large a model is, from a name or from files."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from models import ModelError, builtin
from models.curves import Chip
from models.size import UnknownSize, size_of
from models.storage import Storage


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was fetched, and nothing can be."""
    monkeypatch.setenv("SPECCHAT_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("text", "billions", "active", "bits", "kind"),
    [
        ("7B@4bit", 7, 7, 4.5, "affine"),
        ("0.5b@8bit", 0.5, 0.5, 8.5, "affine"),
        ("30B-A3B@4bit", 30, 3, 4.5, "affine"),
        ("qwen2.5-7b@4bit", 7, 7, 4.5, "affine"),
        ("135M@fp16", 0.135, 0.135, 16, "plain"),
        ("Llama-3.2-1B-Instruct-4bit", 1, 1, 4.5, "affine"),
        ("org/Qwen2.5-7B-Instruct-4bit", 7, 7, 4.5, "affine"),
        ("org/Qwen3-235B-A22B-4-bit", 235, 22, 4.5, "affine"),
        ("org/gemma-3-27b-it-bf16", 27, 27, 16, "plain"),
        ("org/gpt-oss-20b-MXFP4", 20, 20, 4.25, "mx"),
        ("org/Qwen2.5-7B@q8_0", 7, 7, 8.5, "affine"),
    ],
)
def test_a_name_tells_parameters_and_bits(
    text: str, billions: float, active: float, bits: float, kind: str
) -> None:
    size = size_of(text)
    assert size.nbytes == pytest.approx(billions * 1e9 * bits / 8)
    assert size.read == pytest.approx(active * 1e9 * bits / 8)
    assert (size.storage.kind, size.experts) == (kind, active < billions)
    assert "by its name" in size.how


@pytest.mark.parametrize(
    "text",
    ["7B", "nobody", "org/Qwen2.5-7B", "8x7b@4bit", "0B@4bit", "3B-A7B@4bit", "9e9B@4bit", "x@4bit", ""],
)
def test_a_name_that_does_not_tell_names_one_that_does(text: str) -> None:
    with pytest.raises(UnknownSize) as caught:
        size_of(text)
    assert "7B@4bit" in caught.value.next_step


@pytest.mark.parametrize("text", ["./missing.gguf", "./no/folder"])
def test_a_path_that_is_not_there_is_no_name(text: str) -> None:
    with pytest.raises(ModelError, match="There is no file"):
        size_of(text)


def test_the_builtin_model_is_measured_by_its_file() -> None:
    size = size_of("builtin")
    assert 0.95 < size.read / builtin.find().stat().st_size <= 1
    assert (size.storage.name, size.how) == ("4-bit", "by its files")
    assert size.kv_bytes == 2 * 2 * 30 * 3 * 64


def write_folder(folder: Path, config: dict, tensors: dict[str, int]) -> None:
    """A folder in MLX format with tensors of so many bytes each."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"model_type": "llama", **config}))
    (folder / "tokenizer.json").write_text("{}")
    header, at = {}, 0
    for name, nbytes in tensors.items():
        header[name] = {"dtype": "U8", "shape": [nbytes], "data_offsets": [at, at + nbytes]}
        at += nbytes
    raw = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(raw)) + raw + bytes(at))


def test_of_a_mixture_only_the_active_experts_are_read(tmp_path: Path) -> None:
    write_folder(
        tmp_path / "moe",
        {"num_experts": 8, "num_experts_per_tok": 2, "quantization": {"bits": 4, "mode": "mxfp4"}},
        {"model.layers.0.mlp.switch_mlp.up_proj.weight": 800, "model.layers.0.self_attn.q.weight": 100},
    )
    size = size_of("./moe")
    assert (size.name, size.nbytes, size.read, size.experts) == ("moe", 900, 300, True)
    assert size.storage.name == "mxfp4"
    assert size.kv_bytes is None


def test_a_folder_without_quantization_is_plain(tmp_path: Path) -> None:
    config = {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "hidden_size": 64}
    write_folder(tmp_path / "plain", {**config, "torch_dtype": "bfloat16"}, {"weight": 10})
    size = size_of("plain")
    assert (size.storage.kind, size.kv_bytes) == ("plain", 2 * 2 * 2 * 2 * 16)


def test_what_was_fetched_before_is_measured_and_a_cut_download_goes_by_its_name(tmp_path: Path) -> None:
    repository = tmp_path / "home/hub/models--org--Tiny-1B-4bit"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs/main").write_text("abc")
    (repository / "snapshots").mkdir()
    write_folder(repository / "snapshots/abc", {"quantization": {"bits": 4}}, {"weight": 77})
    assert size_of("org/Tiny-1B-4bit").nbytes == 77
    (repository / "snapshots/abc/model.safetensors").unlink()
    assert "by its name" in size_of("org/Tiny-1B-4bit").how


def test_what_the_system_refuses_is_a_sentence() -> None:
    with pytest.raises(ModelError, match="cannot be used"):
        size_of("x" * 5000)


def test_a_damaged_folder_is_a_sentence(tmp_path: Path) -> None:
    write_folder(tmp_path / "cut", {}, {"weight": 100})
    file = tmp_path / "cut/model.safetensors"
    file.write_bytes(file.read_bytes()[:-50])
    with pytest.raises(ModelError, match="damaged"):
        size_of("cut")


def test_words_that_are_no_storage() -> None:
    assert all(Storage.parse(word) is None for word in ("bit", "9bit", "q", "instruct", "v2", "a3b", ""))


@pytest.mark.parametrize("text", ["M4 Pro", "m4pro", "Apple M4 Pro", " m4-pro "])
def test_chips_are_found_however_they_are_written(text: str) -> None:
    chip = Chip.parse(text)
    assert chip is not None
    assert (chip.name, chip.generation, chip.tier, chip.bandwidth) == ("M4 Pro", 16, "Pro", 273e9)


def test_other_chips_are_unknown() -> None:
    assert Chip.parse("M9") is None
    assert Chip.parse("") is None
