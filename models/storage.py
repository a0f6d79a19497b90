"""How weights are stored, from the words that names and configurations have for it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["affine", "mx", "plain"]

_MX = {"mxfp4": 4.25, "mxfp8": 8.25, "nvfp4": 4.5}  # bits a weight with their scales
_PLAIN = {
    **dict.fromkeys(("bf16", "bfloat16", "fp16", "f16", "float16", "16bit"), 16.0),
    **dict.fromkeys(("fp32", "f32", "float32", "32bit"), 32.0),
}
_SCALES = 0.5  # bits a weight of an affine group of 64: a scale and a bias of 16 bits


@dataclass(frozen=True)
class Storage:
    """How the weights are stored.

    Attributes:
        kind: "affine" groups with scale and bias, "mx" for mxfp4, mxfp8 and nvfp4, or "plain" floats.
        name: such as "4-bit", "mxfp4" or "16-bit float".
        bits: of a weight, scales included.
    """

    kind: Kind
    name: str
    bits: float

    @classmethod
    def parse(cls, word: str) -> Storage | None:
        """The storage that a word such as "4bit", "q4_k_m", "mxfp4" or "bf16" stands for, or None."""
        word = word.lower()
        if word in _MX:
            return cls("mx", word, _MX[word])
        if word in _PLAIN:
            return cls("plain", f"{_PLAIN[word]:.0f}-bit float", _PLAIN[word])
        if match := re.fullmatch(r"([2-8])bits?|[wi]?q([2-8])(_\w+)?", word):
            bits = int(match[1] or match[2])
            return cls("affine", f"{bits}-bit", bits + _SCALES)
        return None
