"""Facts about the machine and the weights, where there are any, and what they explain."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import mlx.core as mx
import mlx.nn as nn

from mlx_spec.metal import Device, device, expected


def this_device() -> Device:
    """The machine that this process runs on."""
    info = mx.device_info()
    return device(str(info.get("device_name", "")), str(info.get("architecture", "")), version("mlx"))


@dataclass(frozen=True)
class Weights:
    """How the numbers of a model's largest matrix are stored; it stands for all.

    Attributes:
        mode: such as `affine` or `mxfp4`, or the type of plain numbers.
        bits: of a quantization; None for plain numbers.
        experts: it is a stack of matrices, of which each token takes a few.
    """

    mode: str
    bits: int | None
    experts: bool

    def __str__(self) -> str:
        return f"{self.mode} {self.bits}-bit" if self.bits else self.mode


def weights(model: nn.Module) -> Weights | None:
    """What an mlx-lm model's largest matrix is; None if it has none."""
    layers: list[Any] = [layer for _, layer in model.named_modules()]
    matrices = [layer for layer in layers if "weight" in layer and layer.weight.ndim > 1]
    if not matrices:
        return None
    largest = max(matrices, key=lambda layer: layer.weight.nbytes)
    bits = getattr(largest, "bits", None)
    mode = getattr(largest, "mode", "affine") if bits else str(largest.weight.dtype).rpartition(".")[2]
    return Weights(mode, bits, experts=largest.weight.ndim > 2)


def facts(model: nn.Module, on: Device) -> dict[str, Any]:
    """What may explain a verdict: `quantization`, `generation` of the GPU, `mlx`; None where unknown."""
    stored = weights(model)
    return {"quantization": stored and str(stored), "generation": on.generation, "mlx": on.mlx}


def explain(model: nn.Module, rows: int, on: Device) -> str | None:
    """Which kernel is expected to verify `rows` rows, in a sentence; None where nothing is known."""
    stored = weights(model)
    if stored is None or on.chip is None:
        return None
    kernel = expected(on, rows, stored.mode, stored.bits, experts=stored.experts)
    return f"{on.chip}, MLX {on.mlx}, {stored}: {kernel.sentence(rows)}" if kernel else None
