"""What the engine tells its caller while it generates."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

FinishReason = Literal["stop", "stop_string", "length", "interrupt", "error"]


@dataclass(frozen=True)
class Round:
    """One round's news: the tokens released since the last event, and their text.

    Tokens whose text is held back (half a character, a possible start of a stop string) come with
    a later event, or never if they turn out to be part of a stop string.

    Attributes:
        tokens: released token ids; the concatenation over events is the answer.
        origins: for each token `draft:<source>`, `target` (correction or bonus) or `plain`.
        pieces: the released text as (origin, text) spans, one a token that completed some text.
        k: draft tokens verified in this round; 0 is a plain step.
        accepted: how many of them stand.
        finish_reason: set on the last event only.
    """

    tokens: list[int] = field(default_factory=list)
    origins: list[str] = field(default_factory=list)
    pieces: list[tuple[str, str]] = field(default_factory=list)
    k: int = 0
    accepted: int = 0
    finish_reason: FinishReason | None = None

    @property
    def text(self) -> str:
        """Released text; never half a character, never part of a stop string."""
        return "".join(piece for _, piece in self.pieces)
