"""Blocks are complete, in random order, with the baseline at both ends."""

from __future__ import annotations

from timed import design

from bench.design import Design, sweep_ways


def test_a_sweep_has_plain_the_bare_loop_every_k_and_auto() -> None:
    names = [way.name for way in sweep_ways(["lookup", "model"], [1, 4])]
    assert names[:2] == ["plain", "loop"]
    assert names[2:5] == ["lookup K=1", "lookup K=4", "lookup auto"]
    assert names[5:] == ["model K=1", "model K=4", "model auto"]


def test_every_block_has_every_way_once_and_the_baseline_twice() -> None:
    plan = design(prompts=4, repeats=2)
    names = sorted(way.name for way in plan.ways)
    for block in plan.blocks():
        assert [turn.place for turn in block] == list(range(len(names) + 1))
        assert (block[0].way, block[-1].way) == ("plain", "plain")
        assert sorted(turn.way for turn in block[:-1]) == names
        assert len({turn.task for turn in block}) == 1


def test_every_prompt_comes_once_before_any_comes_again() -> None:
    order = [block[0].task for block in design(prompts=5, repeats=3).blocks()]
    assert [sorted(order[i : i + 5]) for i in (0, 5, 10)] == [[0, 1, 2, 3, 4]] * 3


def test_the_order_is_random_and_depends_on_the_seed_alone() -> None:
    def order(seed: int) -> list[str]:
        return [turn.way for block in design(seed=seed).blocks() for turn in block]

    assert order(1) == order(1)
    assert len({tuple(order(seed)) for seed in range(10)}) == 10


def test_a_design_survives_its_file_and_knows_another() -> None:
    plan = design()
    assert Design.from_json(plan.as_json()) == plan
    assert plan.difference(plan) is None
    assert plan.difference(design(tokens=40)) == "tokens 20 and not 40"
    assert plan.difference(design(prompts=6)) == "other prompts"
