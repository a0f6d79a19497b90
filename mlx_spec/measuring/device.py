"""Facts about the machine and the weights, where there are any, and what they explain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import mlx.core as mx
import mlx.nn as nn

from mlx_spec.measuring.metal import Device, device, expected

# Libraries that replace MLX's matrix kernels on Linux, and what makes them choose others.
_LIBRARIES = ("LD_PRELOAD", "DYLD_INSERT_LIBRARIES")
_PREFIXES = ("MLX_", "OMP_", "OPENBLAS_", "GOTO_", "MKL_", "BLIS_", "VECLIB_")


def kernel_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of an environment that change which kernels run, or how, by name."""
    return {
        name: value
        for name, value in sorted(environ.items())
        if name in _LIBRARIES or name.startswith(_PREFIXES)
    }


def this_device() -> Device:
    """The machine that this process runs on."""
    info = mx.device_info()
    return device(str(info.get("device_name", "")), str(info.get("architecture", "")), version("mlx"))


@dataclass(frozen=True)
class Weights:
    """How the numbers of a matrix are stored.

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
    """How most bytes of an mlx-lm model's matrices are stored; None if it has none."""
    nbytes: Counter[Weights] = Counter()
    for _, layer in model.named_modules():
        if "weight" in layer and layer.weight.ndim > 1:
            nbytes[_stored(layer)] += layer.weight.nbytes
    return max(nbytes, key=lambda stored: nbytes[stored], default=None)


def _stored(layer: Any) -> Weights:
    bits = getattr(layer, "bits", None)
    mode = getattr(layer, "mode", "affine") if bits else str(layer.weight.dtype).rpartition(".")[2]
    return Weights(mode, bits, experts=layer.weight.ndim > 2)


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
