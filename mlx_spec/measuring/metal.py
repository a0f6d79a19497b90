"""Which Metal kernel multiplies M rows by a weight matrix: an explanation, never a decision.

Read in MLX's source up to 0.32.2. Measurements decide; this only says why they may be what they are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

CHIPS = {13: "M1", 14: "M2", 15: "M3", 16: "M4", 17: "M5"}
_ROWS_A_PASS = 5  # of qmv_wide
_WIDE_SINCE = (0, 32, 0)
_DENSE_WIDE_SINCE = (0, 32, 1)
_FLOATS = ("mxfp4", "nvfp4", "mxfp8")


@dataclass(frozen=True)
class Device:
    """Facts about the machine that MLX runs on; None where it does not say.

    Attributes:
        name: of the chip or the processor.
        mlx: MLX's version.
        generation: of the Apple GPU, 13 (M1) and up.
        ultra: two dies in one chip.
    """

    name: str
    mlx: str
    generation: int | None = None
    ultra: bool = False

    @property
    def chip(self) -> str | None:
        """M1, M2 and so on."""
        return CHIPS.get(self.generation) if self.generation else None


def device(name: str, architecture: str, mlx: str) -> Device:
    """Read the facts out of MLX's own strings.

    Args:
        name, architecture: from `mx.device_info()`, such as `applegpu_g15s`.
        mlx: the package's metadata.
    """
    found = re.fullmatch(r"applegpu_g(\d+)([a-z]?)", architecture)
    if not found:
        return Device(name, mlx)
    return Device(name, mlx, int(found[1]), found[2] == "d")


@dataclass(frozen=True)
class Kernel:
    """What is expected to multiply M rows.

    Attributes:
        name: MLX's word for it.
        passes: how often it reads the weights.
    """

    name: str
    passes: int

    def sentence(self, rows: int) -> str:
        """For people."""
        times = "once" if self.passes == 1 else f"{self.passes} times"
        return f"{self.name} is expected, which reads the weights {times} for {rows} rows."


def expected(
    device: Device, rows: int, mode: str, bits: int | None, *, experts: bool = False
) -> Kernel | None:
    """The kernel for large matrices, or None where the table has nothing to say.

    Args:
        device: from `device`.
        rows: M.
        mode: of the quantization, such as `affine` or `mxfp4`; `bfloat16` and the like for plain weights.
        bits: of the quantization; None for plain weights.
        experts: the model is a mixture of experts.
    """
    if device.generation is None:
        return None
    version = tuple(int(part) for part in re.findall(r"\d+", device.mlx)[:3])
    if experts and rows > 1:
        return Kernel("one gather a row", rows)
    if bits is None:
        return _dense(device.generation, version, rows)
    if mode not in _FLOATS and bits not in (4, 8):
        return None
    if rows == 1:
        return Kernel("qmv", 1)
    if rows >= _tiled_from(device):
        return Kernel("tiled qmm", 1)
    wide = mode in _FLOATS or (device.generation >= 15 and version >= _WIDE_SINCE)
    return Kernel("qmv_wide", -(-rows // _ROWS_A_PASS)) if wide else Kernel("qmv a row", rows)


def _tiled_from(device: Device) -> int:
    """The number of rows from which the tiled kernel runs."""
    if device.ultra:
        return 12
    return 6 if device.generation in (13, 14) else 13


def _dense(generation: int, version: tuple[int, ...], rows: int) -> Kernel:
    if rows == 1:
        return Kernel("gemv", 1)
    wide = generation >= 15 and version >= _DENSE_WIDE_SINCE
    return Kernel("gemv_wide", 1) if wide else Kernel("gemm", 1)
