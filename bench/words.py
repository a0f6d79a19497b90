"""How many of something there are, in words."""

from __future__ import annotations


def plural(n: int, noun: str) -> str:
    """Such as "1 prompt" and "2 prompts"."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
