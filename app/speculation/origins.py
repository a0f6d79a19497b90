"""Where the tokens of an answer come from, in words."""

from __future__ import annotations

from collections import Counter

MEANINGS = {
    "draft": "drafted and accepted",
    "target": "the target's own",
    "plain": "undrafted",
}


def kind(origin: str) -> str:
    """`draft:lookup` is a draft, and so on."""
    return origin.partition(":")[0]


def tally(counts: Counter[str], prompt: tuple[int, int] | None) -> str:
    """How many tokens had which origin, and of the prompt's how many need not be read, in words."""
    parts = [f"{counts[name]} {meaning}" for name, meaning in MEANINGS.items() if counts[name]]
    total = sum(counts[name] for name in MEANINGS)
    said = f"{total} tokens: {', '.join(parts)}" if parts else "no tokens"
    return f"{said}; prompt {prompt[0]:,} tokens, {prompt[1]:,} reused" if prompt else said


def shares(counts: Counter[str]) -> str:
    """How large a part of an answer had which origin, in one sentence.

    Args:
        counts: tokens by kind of origin.
    """
    total = sum(counts[name] for name in MEANINGS)
    parts = [
        f"{counts[name]:,} {meaning} ({counts[name] / total:.0%})"
        for name, meaning in MEANINGS.items()
        if counts[name]
    ]
    return f"Of {total:,} tokens: {', '.join(parts)}." if parts else "No tokens."
