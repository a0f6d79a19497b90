"""What an answer may be asked for: refused before anything is computed, or told how long it may be."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from mlx_spec.errors import EmptyPrompt, PromptTooLong, SpecError
from mlx_spec.options import Limits, Sampling


def admit(
    prompt: Sequence[int],
    sampling: Sampling,
    limits: Limits,
    *,
    vocabulary: int,
    end_tokens: Collection[int],
    context_limit: int,
) -> int:
    """Tokens that the answer may have, once the request is known to fit the model.

    Args:
        prompt: token ids of the whole conversation so far.
        sampling: how tokens are drawn.
        limits: when to end besides at an end token.
        vocabulary: tokens that the model knows.
        end_tokens: of the model, some of which may be beyond its vocabulary.
        context_limit: tokens of prompt and answer together.

    Raises:
        EmptyPrompt, PromptTooLong, SpecError: it does not.
    """
    if not prompt:
        raise EmptyPrompt("The prompt is empty.", "Write something first.")
    last = vocabulary - 1
    if unknown := [token for token, _ in sampling.logit_bias if not 0 <= token <= last]:
        raise SpecError(
            f"The logit bias names token {unknown[0]}; this model's tokens are 0 to {last}.",
            "Name another token id.",
        )
    forbidden = {token for token, bias in sampling.logit_bias if bias == -math.inf}
    if sampling.min_tokens:
        forbidden |= {token for token in end_tokens if 0 <= token <= last}
    if len(forbidden) > last:
        raise SpecError(
            "The logit bias and the minimum length forbid every token.", "Leave at least one allowed."
        )
    # MLX does not check an index: it would read beyond the embeddings.
    if not all(0 <= token <= last for token in prompt):
        raise SpecError(
            f"The prompt has a token that is not among the model's {vocabulary}.",
            "Use the tokenizer that belongs to the model.",
        )
    room = context_limit - len(prompt)
    if room < 1:
        raise PromptTooLong(
            f"The prompt has {len(prompt)} tokens, and the context holds {context_limit} with the answer.",
            "Shorten it, start a new chat, or raise --context if the model allows it.",
        )
    return room if limits.max_tokens < 0 else min(room, limits.max_tokens)
