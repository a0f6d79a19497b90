"""Published costs of verification on Apple GPUs, for simulations and predictions; they decide nothing."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

PATH = Path(__file__).with_name("curves.json")


@dataclass(frozen=True)
class Curve:
    """V(M) = T(M)/T(1) as somebody published it.

    Attributes:
        name: what it is called here.
        chip, mlx, weights: where and on what it was measured, in the publisher's words.
        scope: one matrix, or a whole forward.
        rows: V(M) by M.
        source: public repository and number.
    """

    name: str
    chip: str
    mlx: str
    weights: str
    scope: str
    rows: dict[int, float]
    source: str


def published() -> list[Curve]:
    """All curves, the limit cases too."""
    kept = json.loads(PATH.read_text(encoding="utf-8"))["curves"]
    return [
        Curve(
            name=curve["id"],
            rows={int(m): float(v) for m, v in curve["rows"].items()},
            **{word: curve[word] for word in ("chip", "mlx", "weights", "scope", "source")},
        )
        for curve in kept
    ]


def bandwidths() -> dict[str, float]:
    """Memory bandwidth by chip, in bytes a second."""
    kept = json.loads(PATH.read_text(encoding="utf-8"))["bandwidth_gb_s"]
    return {chip: 1e9 * value for chip, value in kept.items()}
