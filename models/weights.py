"""From a checked folder to a model in memory, in the number type that it will compute in."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_flatten, tree_map
from mlx_lm.utils import dequantize_model, load_model

from models.errors import ModelError, first_line

# What mlx-lm raises for a configuration or weights that do not fit each other.
_MISFITS = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, AssertionError, RuntimeError)


def load_weights(
    folder: Path, dtype: str | None, half: str | None = None
) -> tuple[nn.Module, dict[str, Any]]:
    """Load the model of a checked folder.

    Without `dtype` the weights stay as they are, and only the type of the other numbers is chosen:
    float32 on the CPU, where one token of a 4-bit model took 0.11 s with float32 scales, 0.8 s with
    bfloat16 and 3.7 s with float16; on the GPU what the folder has, or `half`.

    Args:
        folder: that `models.folder.check` found whole.
        dtype: dequantize to this type; None keeps quantized weights quantized.
        half: type for everything but packed weights on a GPU; None keeps each as it is.

    Returns:
        The model and its configuration as mlx-lm read it, end tokens included.

    Raises:
        ModelError: if mlx-lm does not know the model or its parts do not fit.
    """
    try:
        model, config = load_model(folder, lazy=True)
    except _MISFITS as error:
        raise _refusal(folder, error) from error
    if dtype is not None:
        # Scale and code are multiplied in float32; only the product is rounded.
        model = cast(dequantize_model(cast(model, mx.float32)), getattr(mx, dtype))
    elif mx.default_device() == mx.cpu:
        cast(model, mx.float32)
    elif half is not None:
        cast(model, getattr(mx, half))
    try:
        mx.eval(model.parameters())
    except RuntimeError as error:
        raise _refusal(folder, error) from error
    return model, config


def cast(model: nn.Module, dtype: mx.Dtype) -> nn.Module:
    """Give every floating-point parameter of `model` the type `dtype`, in place. Packed weights stay."""

    def one(value: Any) -> Any:
        return value.astype(dtype) if mx.issubdtype(value.dtype, mx.floating) else value

    model.update(tree_map(one, model.parameters()))
    return model


def quantization(model: nn.Module) -> str | None:
    """How most of the model's numbers are stored, such as `4-bit` or `mxfp4`; None if as plain floats."""
    sizes: Counter[str] = Counter()
    for _, module in model.named_modules():
        if bits := getattr(module, "bits", None):
            mode = getattr(module, "mode", "affine")
            sizes[f"{bits}-bit" if mode == "affine" else mode] += module.weight.size * 32 // bits
    return sizes.most_common(1)[0][0] if sizes else None


def activation_dtype(model: nn.Module) -> str:
    """The floating-point type of most of the model's unpacked parameters."""
    floats: Counter[str] = Counter()
    for value in dict(tree_flatten(model.parameters())).values():
        if mx.issubdtype(value.dtype, mx.floating):
            floats[str(value.dtype).removeprefix("mlx.core.")] += math.prod(value.shape)
    return floats.most_common(1)[0][0]


def _refusal(folder: Path, error: Exception) -> ModelError:
    said = first_line(error)
    if isinstance(error, RuntimeError) and "alloc" in said:  # MLX has no kind of its own for this
        return ModelError(
            f"There is not enough memory for the weights in {folder} ({said}).",
            "Close other programs, or use a smaller model.",
        )
    if "not supported" in said or "has no attribute 'Model'" in said:
        return ModelError(
            f"{folder / 'config.json'}: {said}.", "Use a model type that this mlx-lm release knows."
        )
    return ModelError(
        f"The weights in {folder} do not fit its config.json ({said}).",
        "Fetch the model again or use another one.",
    )
