"""The order in which ways of decoding take turns."""

from __future__ import annotations

from bench.interleave import Run, Way, interleave
from bench.statistics import Timing

PROMPTS = [[1], [2], [3]]


def recorded_calls(blocks: int, seed: int) -> list[tuple[str, int]]:
    """Which way answered which prompt, in order."""
    calls: list[tuple[str, int]] = []

    def way(name: str) -> Way:
        def run(prompt: list[int]) -> Run:
            calls.append((name, prompt[0]))
            return Run([], Timing(1, 1.0))

        return run

    interleave({name: way(name) for name in "abc"}, PROMPTS, blocks=blocks, seed=seed)
    return calls


def test_each_block_is_one_prompt_answered_every_way() -> None:
    calls = recorded_calls(blocks=5, seed=0)
    for block in range(5):
        turn = calls[3 * block : 3 * block + 3]
        assert {name for name, _ in turn} == set("abc")
        assert {prompt for _, prompt in turn} == {PROMPTS[block % 3][0]}


def test_every_way_comes_first_sometimes() -> None:
    assert {calls[0] for calls in recorded_calls(blocks=30, seed=0)[::3]} == set("abc")


def test_order_depends_on_the_seed_alone() -> None:
    assert recorded_calls(9, seed=1) == recorded_calls(9, seed=1)
    assert recorded_calls(9, seed=1) != recorded_calls(9, seed=2)


def test_runs_stay_paired_by_block() -> None:
    ways = {name: lambda prompt, name=name: Run([prompt[0]], Timing(1, 1.0)) for name in "ab"}
    runs = interleave(ways, PROMPTS, blocks=6, seed=4)
    assert [run.answer for run in runs["a"]] == [run.answer for run in runs["b"]]
