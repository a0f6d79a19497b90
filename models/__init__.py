"""Which models there are, and how they get into memory.

Names load on first use: neither MLX nor what loading needs is imported for a path or an exception.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from models.errors import ModelError, ModelMissing
    from models.loaded import Info, Loaded, load

_HOMES = {
    "Info": "models.loaded",
    "Loaded": "models.loaded",
    "ModelError": "models.errors",
    "ModelMissing": "models.errors",
    "load": "models.loaded",
}

__all__ = ["Info", "Loaded", "ModelError", "ModelMissing", "load"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
