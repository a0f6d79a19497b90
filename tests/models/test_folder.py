"""A folder in MLX format is checked before anything of it is used."""

import json
import os
import struct
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest
from tiny import save_tiny, tiny_config, tiny_loaded

from models import ModelError, ModelMissing, load
from models.tokenizer import render_chat


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return save_tiny(tmp_path / "tiny-4bit", tiny_loaded("qwen3"), tiny_config("qwen3"))


def change(file: Path, **entries: Any) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **entries}))


def test_the_saved_model_comes_back(folder: Path) -> None:
    original, loaded = tiny_loaded("qwen3"), load(str(folder))
    prompt = mx.array([[5, 6, 7]])
    assert mx.array_equal(loaded.model(prompt), original.model(prompt)).item()
    assert loaded.tokenizer.eos_token_ids == original.tokenizer.eos_token_ids
    assert (loaded.info.name, loaded.info.family, loaded.info.context_length) == ("tiny", "qwen3", 512)
    assert loaded.info.nbytes == original.info.nbytes


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_a_dtype_is_given_to_every_number(folder: Path, dtype: str) -> None:
    loaded = load(str(folder), dtype=dtype)
    assert loaded.info.dtype == dtype
    assert loaded.model(mx.array([[5]])).dtype == getattr(mx, dtype)


def test_an_unknown_dtype_is_a_usage_error(folder: Path) -> None:
    with pytest.raises(ValueError, match="float32, float16 or bfloat16"):
        load(str(folder), dtype="int8")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("config.json", "no config.json"),
        ("model.safetensors", "no model.*safetensors"),
        ("tokenizer.json", "no tokenizer"),
    ],
)
def test_a_missing_file_is_named(folder: Path, name: str, words: str) -> None:
    (folder / name).unlink()
    with pytest.raises(ModelMissing, match=words):
        load(str(folder))


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "model.pkl"])
def test_formats_that_can_run_code_are_refused(folder: Path, name: str) -> None:
    (folder / "model.safetensors").rename(folder / name)
    with pytest.raises(ModelError, match=name) as refusal:
        load(str(folder))
    assert "safetensors" in refusal.value.next_step


def test_code_in_the_folder_is_never_run(folder: Path, tmp_path: Path) -> None:
    trap = f"import pathlib\npathlib.Path({str(tmp_path / 'ran')!r}).touch()\n"
    (folder / "code.py").write_text(trap)
    change(
        folder / "tokenizer_config.json",
        tokenizer_class="Mine",
        auto_map={"AutoTokenizer": [None, "code.Mine"]},
    )
    assert load(str(folder)).tokenizer.decode([5]) == tiny_loaded().tokenizer.decode([5])
    change(folder / "config.json", model_file="code.py")
    with pytest.raises(ModelError, match=r"code\.py"):
        load(str(folder))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ({"model_type": "quantum"}, "quantum"),
        ({"model_type": "cache"}, "Model"),
        ({"model_type": "../code"}, "no usable model_type"),
        ({"model_type": None}, "no usable model_type"),
        ({"hidden_size": 32}, "do not fit"),
        ({"hidden_size": 1 << 40}, "hidden_size"),
        ({"num_hidden_layers": 1 << 30}, "num_hidden_layers"),
        ({"num_attention_heads": 0}, "do not fit"),
        ({"hidden_size": "wide"}, "do not fit"),
    ],
)
def test_a_bad_configuration_is_one_sentence(folder: Path, entries: dict[str, Any], words: str) -> None:
    change(folder / "config.json", **entries)
    with pytest.raises(ModelError, match=words) as refusal:
        load(str(folder))
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("text", ["", "[]", "{", '"a"', "[" * 100_000])
def test_a_configuration_that_is_no_object_is_refused(folder: Path, text: str) -> None:
    (folder / "config.json").write_text(text)
    with pytest.raises(ModelError, match=r"config\.json is damaged"):
        load(str(folder))


def test_a_huge_configuration_is_not_read(folder: Path) -> None:
    with (folder / "config.json").open("r+b") as file:
        file.truncate(1 << 32)
    with pytest.raises(ModelError, match="larger than 16 MB"):
        load(str(folder))


def test_cut_weights_are_named(folder: Path) -> None:
    weights = folder / "model.safetensors"
    whole = weights.read_bytes()
    for end in (0, 4, 8, 100, len(whole) // 2, len(whole) - 1):
        weights.write_bytes(whole[:end])
        with pytest.raises(ModelError, match=r"model\.safetensors is damaged"):
            load(str(folder))


def test_weights_that_are_no_file_are_not_opened(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    os.mkfifo(folder / "model.safetensors")
    with pytest.raises(ModelMissing, match="has no model"):
        load(str(folder))


def test_a_safetensors_header_of_two_gigabytes_is_not_read(folder: Path) -> None:
    weights = folder / "model.safetensors"
    for length in (2 << 30, (1 << 64) - 1):
        weights.write_bytes(struct.pack("<Q", length))
        with weights.open("r+b") as file:
            file.truncate(3 << 30)
        with pytest.raises(ModelError, match="header of"):
            load(str(folder))


@pytest.mark.parametrize(
    "entry",
    [
        {"dtype": "F32", "shape": [4], "data_offsets": [0, 1 << 40]},
        {"dtype": "F32", "shape": [4], "data_offsets": [8, 0]},
        {"dtype": "F32", "shape": [1 << 40], "data_offsets": [0, 16]},
        {"dtype": "F32", "shape": [-4], "data_offsets": [0, 16]},
        {"dtype": "X9", "shape": [4], "data_offsets": [0, 16]},
        {"dtype": "F32", "shape": "4", "data_offsets": [0, 16]},
        {"dtype": ["F32"], "shape": [4], "data_offsets": [0, 16]},
        None,
    ],
)
def test_a_tensor_outside_the_file_is_named(folder: Path, entry: Any) -> None:
    header = json.dumps({"model.norm.weight": entry}).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(64))
    with pytest.raises(ModelError, match=r"model\.norm\.weight"):
        load(str(folder))


def test_a_missing_shard_is_named(folder: Path) -> None:
    index = {"weight_map": {"a": "model.safetensors", "b": "model-00002-of-00002.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(ModelMissing, match=r"model-00002-of-00002\.safetensors"):
        load(str(folder))


def test_a_damaged_tokenizer_is_one_sentence(folder: Path) -> None:
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelError, match="tokenizer") as refusal:
        load(str(folder))
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "template",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__()[0]() }}",
        "{{ messages.append('x') }}",
        "{{ raise_exception('only one turn') }}",
        "{% for message in messages %}",
        "{% for i in range(1000000000) %}{% endfor %}",
        "{{ 1 / 0 }}",
    ],
)
def test_a_hostile_chat_template_is_a_clean_error(folder: Path, template: str) -> None:
    (folder / "chat_template.jinja").write_text(template)
    tokenizer = load(str(folder)).tokenizer
    with pytest.raises(ModelError, match="chat template"):
        render_chat(tokenizer, [{"role": "user", "content": "hi"}])


def test_a_chat_is_rendered_up_to_the_answer(folder: Path) -> None:
    tokenizer = load(str(folder)).tokenizer
    ids = render_chat(tokenizer, [{"role": "user", "content": "hi"}])
    assert tokenizer.decode(ids) == "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"


def test_too_little_memory_is_called_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arrays: Any) -> None:
        raise RuntimeError("[malloc] Unable to allocate 40000000000 bytes.")

    monkeypatch.setattr(mx, "eval", full)
    with pytest.raises(ModelError, match="not enough memory") as refusal:
        load(str(folder))
    assert "smaller model" in refusal.value.next_step
