"""Facts about the machine that MLX runs on, where there are any, and what they explain."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import mlx.core as mx
import mlx.nn as nn

from mlx_spec.metal import Device, device, expected


def this_device() -> Device:
    """The machine that this process runs on."""
    info = mx.device_info()
    return device(str(info.get("device_name", "")), str(info.get("architecture", "")), version("mlx"))


def explain(model: nn.Module, rows: int, on: Device) -> str | None:
    """Which kernel is expected to verify `rows` rows, in a sentence; None where nothing is known.

    Args:
        model: an mlx-lm model; its largest matrix stands for all.
        rows: M.
        on: the machine.
    """
    if on.chip is None:
        return None
    layers: list[Any] = [layer for _, layer in model.named_modules()]
    matrices = [layer for layer in layers if "weight" in layer and layer.weight.ndim > 1]
    if not matrices:
        return None
    largest = max(matrices, key=lambda layer: layer.weight.nbytes)
    bits = getattr(largest, "bits", None)
    mode = getattr(largest, "mode", "affine") if bits else str(largest.weight.dtype).rpartition(".")[2]
    experts = largest.weight.ndim > 2
    kernel = expected(on, rows, mode, bits, experts=experts)
    if kernel is None:
        return None
    return f"{on.chip}, MLX {on.mlx}, {f'{mode} {bits}-bit' if bits else mode}: {kernel.sentence(rows)}"
