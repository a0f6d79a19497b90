"""Tiny configurations of mlx-lm's model types, each small in size and full in kinds of layers."""

from __future__ import annotations

from typing import Any

from families.dense import DENSE
from families.experts import EXPERT
from families.recurrent import RECURRENT
from families.shapes import SIZES
from families.windows import WINDOWED

__all__ = ["FAMILIES", "SIZES"]

FAMILIES: dict[str, dict[str, Any]] = {**DENSE, **EXPERT, **WINDOWED, **RECURRENT}
