"""The engine: lossless speculative decoding over MLX. It knows token ids, never chat messages.

Names load on first use, so that reading a default does not import MLX.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mlx_spec.engine import Engine
    from mlx_spec.errors import SpecError
    from mlx_spec.events import Round
    from mlx_spec.options import EngineOptions, Limits, Sampling

_HOMES = {
    "Engine": "mlx_spec.engine",
    "EngineOptions": "mlx_spec.options",
    "Limits": "mlx_spec.options",
    "Round": "mlx_spec.events",
    "Sampling": "mlx_spec.options",
    "SpecError": "mlx_spec.errors",
}

__all__ = ["Engine", "EngineOptions", "Limits", "Round", "Sampling", "SpecError"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
