"""Tiny models whose every token is readable text, and what ends their answers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from mlx_lm.tokenizer_utils import BPEStreamingDetokenizer, TokenizerWrapper


def letters(text: str) -> list[int]:
    """Token ids of lower-case letters and spaces, one each."""
    return [3 if c == " " else ord(c) - ord("a") + 4 for c in text]


READABLE = 64  # the tokenizer's first ids are special tokens, letters, digits and signs
PROMPT = letters("the cat and the dog the cat and the dog the cat")


def with_ends(loaded: Any, *ends: int) -> Any:
    """The same model, ending at `ends` only."""
    inner = loaded.tokenizer._tokenizer
    eos, inner.eos_token = inner.eos_token, None
    tokenizer = TokenizerWrapper(inner, BPEStreamingDetokenizer, eos_token_ids=list(ends))
    inner.eos_token = eos
    return SimpleNamespace(model=loaded.model, tokenizer=tokenizer, info=loaded.info)


def without_ends(loaded: Any) -> Any:
    """The same model, ending at no token."""
    return with_ends(loaded)
