"""What the engine tells its caller while it generates."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

FinishReason = Literal["stop", "stop_string", "length", "interrupt", "error"]


@dataclass(frozen=True)
class Token:
    """A token at one place of a round.

    Attributes:
        id: its id.
        text: its own text; `\ufffd` for a part of a character.
        p: the target's probability of it there.
    """

    id: int
    text: str
    p: float


@dataclass(frozen=True)
class Drafted(Token):
    """A drafted token; its place follows all drafts before it, those that fell included.

    Attributes:
        q: the probability with which the source drew it: 1 of a draft that is certain (lookup, greedy
            drafts), None under seed-exact sampling, which makes no use of it.
        preferred: the target's likeliest token there.
    """

    q: float | None
    preferred: Token


@dataclass(frozen=True)
class Details:
    """What a speculative round was made of.

    A probability is of the law that tokens are drawn from, every warper applied; of greedy sampling,
    which draws from none, it is the softmax of the scores that it takes the argmax of: the logits, with
    bias and penalties where there are any.

    Attributes:
        drafted: every drafted token.
        token: the one after those that stand: the correction of the first that does not, or the bonus. A
            correction is drawn from what the draft left over, or is plain decoding's own under strict
            exactness; `p` is the target's probability all the same.
        preferred: the target's likeliest token at that place.
        law: warped or softmax, as above.
    """

    drafted: tuple[Drafted, ...]
    token: Token
    preferred: Token
    law: Literal["warped", "softmax"]


@dataclass(frozen=True)
class Round:
    """One round's news: the tokens released since the last event, and their text.

    Tokens whose text is held back (half a character, a possible start of a stop string) come with
    a later event, or never if they turn out to be part of a stop string.

    Attributes:
        tokens: released token ids; the concatenation over events is the answer.
        origins: for each token `draft:<source>`, `target` (correction or bonus) or `plain`.
        pieces: the released text as (origin, text) spans, one a token that completed some text.
        k: draft tokens verified in this round, up to the answer's end, as the metrics count them; 0 is a
            plain step, or a round that gave the end alone.
        accepted: how many of them stand.
        finish_reason: set on the last event only.
        details: of a round with drafts, if `EngineOptions.details` asks for them. It tells of the round
            itself, also of what an end of the answer cut off: the drafts from `k` on.
    """

    tokens: list[int] = field(default_factory=list)
    origins: list[str] = field(default_factory=list)
    pieces: list[tuple[str, str]] = field(default_factory=list)
    k: int = 0
    accepted: int = 0
    finish_reason: FinishReason | None = None
    details: Details | None = None

    @property
    def text(self) -> str:
        """Released text; never half a character, never part of a stop string."""
        return "".join(piece for _, piece in self.pieces)
