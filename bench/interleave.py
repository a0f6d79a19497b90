"""Runs several ways of decoding in turn, so that a machine's drift falls on all of them alike."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bench.statistics import Timing


@dataclass(frozen=True)
class Run:
    """One way's answer to one prompt.

    Attributes:
        answer: the token ids.
        timing: of decoding alone; reading the prompt is not in it.
        drafted: draft tokens verified.
        accepted: those that stood.
        rounds: speculative rounds.
    """

    answer: list[int]
    timing: Timing
    drafted: int = 0
    accepted: int = 0
    rounds: int = 0


Way = Callable[[list[int]], Run]
Prompt = list[int]


def interleave(
    ways: Mapping[str, Way],
    prompts: Sequence[Prompt],
    *,
    blocks: int,
    seed: int = 0,
    progress: Callable[[str], None] = lambda sentence: None,
) -> dict[str, list[Run]]:
    """Answer prompts in `blocks`: one prompt, every way once, in a random order.

    Args:
        ways: by name, how a prompt's token ids become a run.
        prompts: used in turn until there are enough blocks.
        blocks: how many.
        seed: of the orders.
        progress: takes a sentence before each block.

    Returns:
        For each way its runs; entry i of each belongs to block i.
    """
    runs: dict[str, list[Run]] = {name: [] for name in ways}
    orders = random.Random(seed)
    for block in range(blocks):
        progress(f"block {block + 1} of {blocks}")
        for name in orders.sample(list(ways), len(ways)):
            runs[name].append(ways[name](prompts[block % len(prompts)]))
    return runs
