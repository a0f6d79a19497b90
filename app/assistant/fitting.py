"""A conversation that no longer fits its context: which of its oldest turns the model is not told.

Turns go in strides of a quarter of the context, so that for a while the prompt starts as the last one
did, and the cache of that start is used again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.assistant.template import Message

STRIDES = 4  # of the context


@dataclass(frozen=True)
class Fitted:
    """A prompt, and what it leaves out.

    Attributes:
        tokens: of the prompt.
        left_out: messages of the conversation that are not in it, the oldest ones.
    """

    tokens: list[int]
    left_out: int = 0


def fit(
    messages: Sequence[Message],
    render: Callable[[Sequence[Message]], list[int]],
    *,
    limit: int,
    answer: int,
) -> Fitted:
    """The prompt of a conversation without as many of its oldest turns as must go.

    Whole turns go, each from a user's message to before the next; never the last one, so the prompt may
    still be too long. What comes before the first user's message stays.

    Args:
        messages: of the conversation, the last of which is the user's, or an answer that is to go on.
        render: gives their prompt's tokens; the system prompt is its own affair.
        limit: tokens of prompt and answer together.
        answer: tokens that the answer may have. A quarter of the context is kept free for it at most.
    """
    stride = max(limit // STRIDES, 1)
    room = limit - min(answer, stride)
    whole = render(messages)
    starts = [i for i, message in enumerate(messages) if message.role == "user"]
    if len(whole) <= room or len(starts) < 2:
        return Fitted(whole)

    def without(turns: int) -> list[int]:
        return render([*messages[: starts[0]], *messages[starts[turns] :]])

    def first(tokens: int) -> int:
        """The fewest turns whose going leaves at most `tokens`, or all but the last turn."""
        return bisect_left(range(len(starts) - 1), True, key=lambda turns: len(without(turns)) <= tokens)

    surplus = len(whole) - len(without(first(room)))
    turns = first(len(whole) - -(-surplus // stride) * stride)
    return Fitted(without(turns), starts[turns] - starts[0])
