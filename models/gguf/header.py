"""The header of a GGUF file, read with every count, length and offset checked against the file.

Nothing of a file is used before its header is known to describe bytes that are there: a damaged or
hostile file costs one sentence and little memory.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from models.errors import ModelError

MAX_HEADER = 64 << 20  # bytes; the largest vocabularies need about 20 MB
MAX_ENTRIES = 1 << 16  # metadata keys, and tensors
MAX_DIMS = 4
MAX_NESTING = 2

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9

# Tensor types: name, values a block, bytes a block. The named ones without a size are known but not read.
READABLE = {0: ("F32", 1, 4), 1: ("F16", 1, 2), 2: ("Q4_0", 32, 18), 3: ("Q4_1", 32, 20), 8: ("Q8_0", 32, 34)}
_UNREADABLE = {
    6: "Q5_0", 7: "Q5_1", 9: "Q8_1", 10: "Q2_K", 11: "Q3_K", 12: "Q4_K", 13: "Q5_K", 14: "Q6_K", 15: "Q8_K",
    16: "IQ2_XXS", 17: "IQ2_XS", 18: "IQ3_XXS", 19: "IQ1_S", 20: "IQ4_NL", 21: "IQ3_S", 22: "IQ2_S",
    23: "IQ4_XS", 24: "I8", 25: "I16", 26: "I32", 27: "I64", 28: "F64", 29: "IQ1_M", 30: "BF16",
    34: "TQ1_0", 35: "TQ2_0", 39: "MXFP4",
}  # fmt: skip


@dataclass(frozen=True)
class Tensor:
    """Where one tensor is.

    Attributes:
        name: such as `blk.0.attn_q.weight`.
        shape: row-major, as in numpy: (rows, columns).
        type: `F32`, `F16`, `Q4_0`, `Q4_1` or `Q8_0`.
        offset: bytes from the start of the file.
        nbytes: bytes in the file.
    """

    name: str
    shape: tuple[int, ...]
    type: str
    offset: int
    nbytes: int


@dataclass(frozen=True)
class Header:
    """What a GGUF file says about itself.

    Attributes:
        path: the file.
        metadata: key to number, bool, string, list of strings or numpy array.
        tensors: name to place.
    """

    path: Path
    metadata: dict[str, Any]
    tensors: dict[str, Tensor]

    def text(self, key: str) -> str | None:
        """The metadata of `key` if it is a string, else None."""
        value = self.metadata.get(key)
        return value if isinstance(value, str) else None


class Damaged(ModelError):
    """The file is not what its header says."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(f"{path} is not a whole GGUF file: {what}.", "Download the file again.")


def read_header(path: Path) -> Header:
    """Read and check the header of the GGUF file at `path`.

    Raises:
        ModelError: if the file is damaged, of another format, or has tensors that cannot be read.
        OSError: if it cannot be opened.
    """
    with path.open("rb") as file:
        return _Reader(path, file, path.stat().st_size).header()


class _Reader:
    def __init__(self, path: Path, file: BinaryIO, size: int) -> None:
        self.path, self.file, self.size = path, file, size

    def header(self) -> Header:
        if (magic := self.file.read(4)) != b"GGUF":
            raise Damaged(self.path, f"it starts with {magic!r}" if magic else "it is empty")
        version = self.number("I")
        if version not in (2, 3):
            if int.from_bytes(version.to_bytes(4, "little"), "big") in (2, 3):
                what, step = "is a big-endian GGUF file", "Use the little-endian file."
            else:
                what, step = f"is a GGUF file of version {version}", "Use a file of version 2 or 3."
            raise ModelError(f"{self.path} {what}, which cannot be read.", step)
        tensor_count = self.count(self.number("Q"), MAX_ENTRIES, 24, "tensors")
        key_count = self.count(self.number("Q"), MAX_ENTRIES, 13, "metadata entries")
        metadata: dict[str, Any] = {}
        for _ in range(key_count):
            key = self.string()
            metadata[key] = self.value(self.number("I"))
        infos = [self.tensor_info() for _ in range(tensor_count)]
        return Header(self.path, metadata, self.place(infos, metadata.get("general.alignment", 32)))

    def take(self, n: int) -> bytes:
        if n > MAX_HEADER - self.file.tell():
            raise Damaged(self.path, f"its header is longer than {MAX_HEADER >> 20} MB")
        data = self.file.read(n) if n <= self.size - self.file.tell() else b""
        if len(data) != n:
            raise Damaged(self.path, f"it ends inside its header, at byte {self.size}")
        return data

    def number(self, code: str) -> Any:
        return struct.unpack(f"<{code}", self.take(struct.calcsize(f"<{code}")))[0]

    def count(self, n: int, limit: int, least_bytes: int, what: str) -> int:
        if n > limit or n * least_bytes > self.size - self.file.tell():
            raise Damaged(self.path, f"it claims {n} {what}")
        return n

    def string(self) -> str:
        return self.take(self.number("Q")).decode("utf-8", "replace")

    def value(self, kind: int, nesting: int = 0) -> Any:
        if kind in _SCALARS:
            return self.number(_SCALARS[kind])
        if kind == _STRING:
            return self.string()
        if kind != _ARRAY or nesting == MAX_NESTING:
            raise Damaged(self.path, f"it has metadata of the unknown type {kind}")
        item, n = self.number("I"), self.number("Q")
        if item in _SCALARS:
            dtype = np.dtype(f"<{_SCALARS[item]}" if _SCALARS[item] != "?" else "?")
            return np.frombuffer(self.take(n * dtype.itemsize), dtype)
        n = self.count(n, MAX_HEADER, 8, "array items")
        return [self.value(item, nesting + 1) for _ in range(n)]

    def tensor_info(self) -> tuple[str, tuple[int, ...], int, int]:
        name = self.string()
        dims = self.number("I")
        if not 1 <= dims <= MAX_DIMS:
            raise Damaged(self.path, f"the tensor {name!r} claims {dims} dimensions")
        shape = struct.unpack(f"<{dims}Q", self.take(8 * dims))
        return name, shape[::-1], self.number("I"), self.number("Q")

    def place(self, infos: list[tuple[str, tuple[int, ...], int, int]], alignment: Any) -> dict[str, Tensor]:
        if not isinstance(alignment, int) or not 1 <= alignment <= 1 << 16:
            raise Damaged(self.path, f"it claims an alignment of {alignment}")
        start = math.ceil(self.file.tell() / alignment) * alignment
        tensors: dict[str, Tensor] = {}
        foreign = {_UNREADABLE.get(kind, f"type {kind}") for _, _, kind, _ in infos if kind not in READABLE}
        if foreign:
            raise ModelError(
                f"{self.path} has {', '.join(sorted(foreign))} tensors; only "
                f"{', '.join(name for name, _, _ in READABLE.values())} can be read.",
                "Use a Q4_0, Q4_1, Q8_0, F16 or F32 file of this model.",
            )
        for name, shape, kind, offset in infos:
            type_name, per_block, block_bytes = READABLE[kind]
            values = math.prod(shape)
            if values < 1 or shape[-1] % per_block:
                raise Damaged(self.path, f"the tensor {name!r} cannot have the shape {shape}")
            nbytes = values // per_block * block_bytes
            if offset % alignment or start + offset + nbytes > self.size:
                raise Damaged(self.path, f"the tensor {name!r} ends past the end of the file")
            if name in tensors:
                raise Damaged(self.path, f"it has two tensors {name!r}")
            tensors[name] = Tensor(name, shape, type_name, start + offset, nbytes)
        return tensors
