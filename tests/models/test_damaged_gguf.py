"""A damaged or hostile GGUF file costs one sentence and little memory, never the process."""

import contextlib
import struct
import tracemalloc
from pathlib import Path

import gguf_file
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mlx.utils import tree_flatten
from tiny import tiny_config, tiny_model

from models import ModelError, load
from models.gguf.header import read_header


@pytest.fixture(scope="module")
def whole_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("gguf") / "whole.gguf"
    config = tiny_config("llama", layers=1)
    model = tiny_model(config)
    weights = {name: np.array(value) for name, value in tree_flatten(model.parameters())}
    gguf_file.write_model(path, config, weights, {"": "Q4_1"})
    return path


@pytest.fixture
def whole(whole_file: Path) -> bytes:
    return whole_file.read_bytes()


def test_every_cut_is_named(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / "cut.gguf"
    for end in [*range(0, 400), *range(400, len(whole), 997), len(whole) - 1]:
        path.write_bytes(whole[:end])
        with pytest.raises(ModelError, match=r"cut\.gguf") as refusal:
            read_header(path)
        assert refusal.value.next_step == "Download the file again."


@settings(max_examples=300, deadline=None)
@given(position=st.integers(0, 2000), value=st.binary(min_size=1, max_size=8))
def test_changed_bytes_are_read_or_refused_but_never_crash(
    whole_file: Path, position: int, value: bytes
) -> None:
    whole, path = whole_file.read_bytes(), whole_file.with_name("changed.gguf")
    path.write_bytes(whole[:position] + value + whole[position + len(value) :])
    with contextlib.suppress(ModelError):
        load(str(path))


HUGE = 1 << 62


@pytest.mark.parametrize(
    ("start", "words"),
    [
        (b"", "empty"),
        (b"PK\x03\x04" + bytes(64), "starts with"),
        (b"GGUF" + struct.pack(">I", 3) + bytes(64), "big-endian"),
        (b"GGUF" + struct.pack("<I", 1) + bytes(64), "version 1"),
        (b"GGUF" + struct.pack("<IQQ", 3, HUGE, 0) + bytes(64), f"{HUGE} tensors"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, HUGE) + bytes(64), f"{HUGE} metadata entries"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 2 << 30) + bytes(64), "header"),
        (b"GGUF" + struct.pack("<IQQQ1sIIQ", 3, 0, 1, 1, b"k", 9, 5, HUGE) + bytes(64), "header"),
        (b"GGUF" + struct.pack("<IQQQ1sIIQ", 3, 0, 1, 1, b"k", 9, 8, HUGE) + bytes(64), "array items"),
        (b"GGUF" + struct.pack("<IQQQ1sI", 3, 0, 1, 1, b"k", 99) + bytes(64), "unknown type 99"),
        (b"GGUF" + struct.pack("<IQQQ1sI", 3, 1, 0, 1, b"t", 9) + bytes(64), "9 dimensions"),
        (b"GGUF" + struct.pack("<IQQQ1sIQQIQ", 3, 1, 0, 1, b"t", 2, 1 << 40, 1 << 40, 0, 0), "past the end"),
        (b"GGUF" + struct.pack("<IQQQ1sIQIQ", 3, 1, 0, 1, b"t", 1, 31, 2, 0) + bytes(64), "shape"),
        (b"GGUF" + struct.pack("<IQQQ1sIQIQ", 3, 1, 0, 1, b"t", 1, 256, 12, 0) + bytes(256), "Q4_K"),
    ],
)
def test_a_claim_that_the_file_does_not_keep_is_named(tmp_path: Path, start: bytes, words: str) -> None:
    path = tmp_path / "hostile.gguf"
    path.write_bytes(start)
    with pytest.raises(ModelError, match=words):
        load(str(path))


def test_a_header_of_two_gigabytes_is_not_read_into_memory(tmp_path: Path) -> None:
    path = tmp_path / "sparse.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 2 << 30))
    with path.open("r+b") as file:
        file.truncate(3 << 30)
    tracemalloc.start()
    with pytest.raises(ModelError, match="header is longer"):
        read_header(path)
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_deep_nesting_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "nested.gguf"
    nested = struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * 1000
    path.write_bytes(b"GGUF" + struct.pack("<IQQQ1s", 3, 0, 1, 1, b"k") + nested + bytes(64))
    with pytest.raises(ModelError, match="unknown type"):
        read_header(path)
