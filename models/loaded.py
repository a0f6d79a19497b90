"""A model in memory with its tokenizer and what is known about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import mlx.nn as nn
    from mlx_lm.tokenizer_utils import TokenizerWrapper


@dataclass(frozen=True)
class Info:
    """Facts about a loaded model.

    Attributes:
        ref: what the user named: `builtin`, a path, or a hub repository.
        name: a name for the screen, without the quantization.
        family: the `model_type` of its configuration, such as `llama`.
        context_length: tokens that it was made for, at most.
        vocab_size: rows of its output, which may be more than the tokenizer has tokens.
        dtype: floating-point type of its activations, such as `float16`.
        quantization: such as `4-bit`, or None for plain weights.
        nbytes: bytes of its weights in memory.
        revision: commit of the hub repository, or None for local files.
    """

    ref: str
    name: str
    family: str
    context_length: int
    vocab_size: int
    dtype: str
    quantization: str | None
    nbytes: int
    revision: str | None = None


@dataclass(frozen=True)
class Loaded:
    """A model ready to run.

    Attributes:
        model: (1, M) token ids and a KV cache to (1, M, V) logits.
        tokenizer: text to token ids and back, with the chat template and the end tokens.
        info: facts about the model.
    """

    model: nn.Module
    tokenizer: TokenizerWrapper
    info: Info
