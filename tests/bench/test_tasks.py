"""Which prompts are measured on, and how long the answers may be."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from timed import design

from bench.design import Task, WrongDesign
from bench.options import QUICK_TOKENS, Options
from bench.prompts import PromptSet, builtin
from bench.prompts.entry import Prompt
from bench.record import Pace
from bench.statistics import FEWEST
from bench.tasks import chosen, fitting, tasks_of
from mlx_spec import EngineOptions, Sampling

TASKS = [Task(f"p{n}", "chat", list(range(n)), max_tokens=64) for n in (90, 10, 50, 30, 70, 20)]
WAYS = design().ways


def pace(token: float) -> Pace:
    return Pace(True, (1.0, 10), token)


def pair(context: int) -> Any:
    target = SimpleNamespace(info=SimpleNamespace(context_length=context))
    return SimpleNamespace(target=target, options=EngineOptions())


def rendered(prompt: Prompt) -> list[int]:
    return list(range(len(prompt.title)))


def prompts(*entries: tuple[str, str, dict[str, Any]]) -> PromptSet:
    made = [Prompt(ident, group, (("user", "hello"),), **more) for ident, group, more in entries]
    return PromptSet("made", tuple(made))


def test_classes_take_turns_until_there_are_enough() -> None:
    groups = [prompt.group for prompt in chosen(builtin(), Options(prompts=20))]
    assert len(groups) == 20
    assert {groups.count(group) for group in groups} == {2}
    assert len(chosen(builtin(), Options(prompts=0))) == len(builtin().prompts)


def test_quick_takes_its_own_subset() -> None:
    assert all(prompt.quick for prompt in chosen(builtin(), Options(quick=True)))


def test_a_prompts_own_wishes_come_first() -> None:
    made = prompts(("a", "x", {"max_tokens": 5}), ("b", "x", {"sampling": {"temperature": 0.7}}))
    short, sampled = tasks_of(made.prompts, Sampling(), rendered, Options(seed=3), pair(1000))
    assert (short.max_tokens, short.repeatable) == (5, True)
    assert (sampled.sampling, sampled.repeatable) == (Sampling(temperature=0.7, seed=3), False)


def test_what_leaves_no_room_for_an_answer_stays_out() -> None:
    made = prompts(("a", "x", {"max_tokens": 5}), ("b", "x", {"max_tokens": 50}))
    (task,) = tasks_of(made.prompts, Sampling(), rendered, Options(), pair(20))
    assert task.prompt == "a"
    with pytest.raises(WrongDesign, match="No prompt fits a context of 4 tokens"):
        tasks_of(made.prompts, Sampling(), rendered, Options(), pair(4))


def test_peers_leave_out_what_not_all_of_them_can_sample() -> None:
    made = prompts(("a", "x", {}), ("b", "x", {"sampling": {"presence_penalty": 1.0}}))
    assert len(tasks_of(made.prompts, Sampling(), rendered, Options(peers=True), pair(1000))) == 1
    assert len(tasks_of(made.prompts, Sampling(), rendered, Options(), pair(1000))) == 2


def test_a_fast_machine_answers_every_quick_prompt_at_full_length() -> None:
    fit = fitting(TASKS, WAYS, pace(0.001), 100.0, None)
    assert len(fit) == len(TASKS)
    assert {task.max_tokens for task in fit} == {QUICK_TOKENS[0]}


def test_a_slower_one_answers_the_shortest_and_more_briefly() -> None:
    fit = fitting(TASKS, WAYS, pace(0.1), 90.0, None)
    assert FEWEST <= len(fit) < len(TASKS)
    lengths = [len(task.tokens) for task in fit]
    assert lengths == sorted(len(task.tokens) for task in TASKS)[: len(fit)]
    assert fit[0].max_tokens < QUICK_TOKENS[0]


def test_there_are_enough_prompts_for_an_interval_however_slow_it_is() -> None:
    fit = fitting(TASKS, WAYS, pace(10.0), 90.0, None)
    assert len(fit) == FEWEST
    assert {task.max_tokens for task in fit} == {QUICK_TOKENS[-1]}


def test_a_length_that_was_asked_for_stays() -> None:
    fit = fitting([replace(task) for task in TASKS], WAYS, pace(0.1), 90.0, 20)
    assert {task.max_tokens for task in fit} == {20}
