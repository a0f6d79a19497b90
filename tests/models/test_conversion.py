"""A GGUF file is converted once; a damaged conversion is noticed, said and made again."""

import threading
from pathlib import Path

import gguf_file
import mlx.core as mx
import numpy as np
import pytest
from mlx.utils import tree_flatten
from tiny import tiny_config, tiny_model

from models import ModelError, load


@pytest.fixture
def gguf(tmp_path: Path) -> str:
    config = tiny_config("llama")
    model = tiny_model(config)
    weights = {name: np.array(value) for name, value in tree_flatten(model.parameters())}
    gguf_file.write_model(tmp_path / "tiny.Q8_0.gguf", config, weights, {"": "Q8_0"})
    return str(tmp_path / "tiny.Q8_0.gguf")


def conversions(home: Path) -> list[Path]:
    folder = home / "data" / "models" / "converted"
    return sorted(entry for entry in folder.iterdir() if entry.name != ".lock")


def test_the_second_load_converts_nothing(gguf: str, home: Path) -> None:
    first, second = [], []
    one, two = load(gguf, progress=first.append), load(gguf, progress=second.append)
    assert any("Converting" in sentence for sentence in first)
    assert second == []
    assert one.info == two.info
    assert one.info.name == "tiny"
    assert len(conversions(home)) == 1


def test_a_changed_file_is_converted_anew(gguf: str, home: Path) -> None:
    load(gguf)
    with Path(gguf).open("ab") as file:
        file.write(b"\0")
    load(gguf)
    assert len(conversions(home)) == 2


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json", "conversion.json"])
def test_a_damaged_conversion_is_said_and_made_again(gguf: str, home: Path, name: str) -> None:
    expected = load(gguf).model(mx.array([[5, 6]]))
    (kept,) = conversions(home)
    whole = (kept / name).read_bytes()
    for damaged in (whole[:-40], b"\0" + whole[1:], None):
        (kept / name).unlink()
        if damaged is not None:
            (kept / name).write_bytes(damaged)
        said: list[str] = []
        assert mx.array_equal(load(gguf, progress=said.append).model(mx.array([[5, 6]])), expected).item()
        assert "is damaged" in said[0]
        assert conversions(home) == [kept]


def test_where_nothing_can_be_kept_the_model_loads_all_the_same(gguf: str, home: Path) -> None:
    home.mkdir()
    (home / "data").write_text("a file where a folder should be")
    said: list[str] = []
    assert load(gguf, progress=said.append).info.quantization == "8-bit"
    assert any("cannot be written" in sentence for sentence in said)


def test_two_at_once_both_get_the_model(gguf: str, home: Path) -> None:
    from models.conversion import converted

    start, folders = threading.Barrier(2), []

    def convert() -> None:
        start.wait()
        with converted(Path(gguf), lambda sentence: None) as folder:
            folders.append(folder)

    threads = [threading.Thread(target=convert) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert folders == conversions(home) * 2


def test_what_a_killed_process_left_is_removed(gguf: str, home: Path) -> None:
    load(gguf)
    (kept,) = conversions(home)
    left = kept.with_name(".new-killed")
    kept.rename(left)
    load(gguf)
    assert conversions(home) == [kept]


def test_a_full_disk_is_one_sentence(gguf: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise RuntimeError("[write] Unable to write 285308 bytes to file.")

    monkeypatch.setattr(mx, "save_safetensors", full)
    with pytest.raises(ModelError, match=r"no room for the converted tiny\.Q8_0\.gguf.* Free \d+ MB"):
        load(gguf)


def test_a_failed_conversion_leaves_nothing(gguf: str, home: Path) -> None:
    Path(gguf).write_bytes(Path(gguf).read_bytes()[:2000])
    with pytest.raises(ModelError, match=r"tiny\.Q8_0\.gguf"):
        load(gguf)
    assert conversions(home) == []
