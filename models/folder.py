"""A model folder in MLX format: checked first, then loaded by mlx-lm.

What is checked is what could run code, fill the memory or end the process: only safetensors files are
read, their headers are measured against the files, and no code from the folder is ever run.
"""

from __future__ import annotations

import json
import math
import re
import struct
from pathlib import Path
from typing import Any

from models.errors import ModelError, ModelMissing

MAX_JSON = 16 << 20  # bytes of config.json and other small files
MAX_TOKENIZER = 256 << 20  # bytes of tokenizer.json
MAX_SAFETENSORS_HEADER = 100 << 20  # bytes; the limit of the safetensors library
MAX_NUMBER = 1 << 31  # no size in a configuration is larger
MAX_LAYERS = 4096

TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "vocab.json", "tiktoken.model", "tekken.json")
_UNSAFE = ("*.bin", "*.pt", "*.pth", "*.pkl", "*.ckpt", "*.npz")
_BITS = {
    **dict.fromkeys(("F64", "I64", "U64", "C64"), 64),
    **dict.fromkeys(("F32", "I32", "U32"), 32),
    **dict.fromkeys(("F16", "BF16", "I16", "U16"), 16),
    **dict.fromkeys(("F8_E4M3", "F8_E5M2", "F8_E8M0", "I8", "U8", "BOOL"), 8),
}


class Damaged(ModelError):
    """A file of the folder is not whole.

    Attributes:
        file: which one.
    """

    def __init__(self, file: Path, what: str, next_step: str = "Fetch the file again.") -> None:
        super().__init__(f"{file} is damaged: {what}.", next_step)
        self.file = file


def check(folder: Path) -> dict[str, Any]:
    """Check the folder without loading a weight.

    Returns:
        Its configuration.

    Raises:
        ModelMissing: if a file that a model needs is not there.
        Damaged: if a file is cut short or not what it claims.
        ModelError: if the model cannot be loaded safely.
    """
    config = _configuration(folder)
    for file in _weight_files(folder):
        _check_safetensors(file)
    present = [name for name in TOKENIZER_FILES if (folder / name).is_file()]
    if not present:
        raise ModelMissing(f"{folder} has no tokenizer.", "Add its tokenizer.json.")
    for name in present:
        if (folder / name).stat().st_size > MAX_TOKENIZER:
            raise Damaged(folder / name, f"it is larger than {MAX_TOKENIZER >> 20} MB")
    return config


def read_json(file: Path) -> dict[str, Any]:
    """A small JSON file that holds an object.

    Raises:
        Damaged: if it is too large or holds something else.
    """
    if file.stat().st_size > MAX_JSON:
        raise Damaged(file, f"it is larger than {MAX_JSON >> 20} MB")
    try:
        value = json.loads(file.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise Damaged(file, "it is not valid JSON") from error
    if not isinstance(value, dict):
        raise Damaged(file, "it holds no JSON object")
    return value


def _configuration(folder: Path) -> dict[str, Any]:
    file = folder / "config.json"
    if not file.is_file():
        raise ModelMissing(f"{folder} has no config.json.", "Name a folder that holds a model in MLX format.")
    config = read_json(file)
    for name in ("generation_config.json", "tokenizer_config.json", "hf_quant_config.json"):
        if (folder / name).is_file():
            read_json(folder / name)
    if (code := config.get("model_file")) is not None:
        raise ModelError(
            f"{file} asks to run the Python file {str(code)[:80]!r}.",
            "Use a model of a known type; code that comes with a model is never run.",
        )
    kind = config.get("model_type")
    if not isinstance(kind, str) or not re.fullmatch(r"\w{1,64}", kind, re.ASCII):
        raise ModelError(f"{file} names no usable model_type.", "Use a folder that mlx_lm.convert wrote.")
    _check_sizes(file, config)
    return config


def _check_sizes(file: Path, config: dict[str, Any]) -> None:
    for part in (config, config.get("text_config")):
        for key, value in part.items() if isinstance(part, dict) else ():
            if isinstance(value, int) and abs(value) > MAX_NUMBER:
                raise Damaged(file, f"{key[:40]} is {str(value)[:24]}")
            if key.endswith("layers") and isinstance(value, int) and value > MAX_LAYERS:
                raise Damaged(file, f"{key[:40]} is {value}")


def _weight_files(folder: Path) -> list[Path]:
    # A pipe of that name would wait for a writer.
    files = sorted(file for file in folder.glob("model*.safetensors") if file.is_file())
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        shards = read_json(index).get("weight_map", {})
        named = {str(shard) for shard in shards.values()} if isinstance(shards, dict) else set()
        if missing := sorted(shard for shard in named if not (folder / shard).is_file()):
            raise ModelMissing(
                f"{folder} has no {missing[0]}, which its index names.", "Fetch the missing file."
            )
    if files:
        return files
    unsafe = [file.name for pattern in _UNSAFE for file in sorted(folder.glob(pattern))]
    if unsafe:
        raise ModelError(
            f"{folder} has its weights in {unsafe[0]}, a format that can run code when it is read.",
            "Convert them to safetensors with mlx_lm.convert, or use an MLX version of the model.",
        )
    raise ModelMissing(
        f"{folder} has no model*.safetensors file.", "Fetch the weights or name another folder."
    )


def _check_safetensors(file: Path) -> None:
    size = file.stat().st_size
    with file.open("rb") as opened:
        start = opened.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
        if len(start) < 8 or length > size - 8:
            raise Damaged(file, f"it is {size} bytes long and ends inside its header of {length} bytes")
        if length > MAX_SAFETENSORS_HEADER:
            raise Damaged(file, f"it claims a header of {length} bytes")
        try:
            header = json.loads(opened.read(length))
        except (ValueError, RecursionError) as error:
            raise Damaged(file, "its header is not valid JSON") from error
    if not isinstance(header, dict):
        raise Damaged(file, "its header holds no JSON object")
    header.pop("__metadata__", None)
    for name, entry in header.items():
        if not _is_whole(entry, size - 8 - length):
            raise Damaged(file, f"its tensor {name[:60]!r} is not inside the file")


def _is_whole(entry: Any, data_bytes: int) -> bool:
    """Whether a tensor's entry describes bytes that are there."""
    try:
        begin, end = entry["data_offsets"]
        if not all(isinstance(n, int) and n >= 0 for n in (begin, end, *entry["shape"])):
            return False
        bits = math.prod(entry["shape"]) * _BITS[entry["dtype"]]
        return begin <= end <= data_bytes and bits == (end - begin) * 8
    except (LookupError, TypeError, ValueError):
        return False
