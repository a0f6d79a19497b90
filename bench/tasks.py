"""Which prompts a sweep answers, as the target reads them, and how long the answers may be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from bench.design import Task, Way, WrongDesign
from bench.options import QUICK_TOKENS, TOKENS, Options
from bench.peers import takes
from bench.prompts import PromptSet
from bench.prompts.entry import Prompt
from bench.record import Pace
from bench.statistics import FEWEST
from bench.sweep import expected_run
from bench.ways import Pair
from mlx_spec.options import Sampling


def chosen(prompts: PromptSet, options: Options) -> list[Prompt]:
    """The prompts to measure on: as many as asked for, the classes taking turns."""
    if options.quick:
        return list(prompts.quick().prompts)
    groups = {name: [p for p in prompts.prompts if p.group == name] for name in prompts.groups}
    most = max(map(len, groups.values()))
    turns = [group[i] for i in range(most) for group in groups.values() if i < len(group)]
    return turns[: options.prompts] if options.prompts else turns


def tasks_of(
    prompts: Sequence[Prompt],
    sampling: Sampling,
    render: Callable[[Prompt], list[int]],
    options: Options,
    pair: Pair,
) -> list[Task]:
    """The prompts as tasks, but for those that leave no room for an answer or that a peer cannot sample."""
    tokens = options.tokens or TOKENS
    context = pair.options.context or pair.target.info.context_length
    tasks = []
    for prompt in prompts:
        how = prompt.sampling_over(sampling)
        how = replace(how, seed=options.seed) if how.seed is None else how
        task = Task(prompt.id, prompt.group, render(prompt), how, min(tokens, prompt.max_tokens or tokens))
        if len(task.tokens) + task.max_tokens <= context and (not options.peers or takes(task)):
            tasks.append(task)
    if not tasks:
        raise WrongDesign(
            f"No prompt fits a context of {context} tokens.", "Choose shorter --prompts or fewer --tokens."
        )
    return tasks


def fitting(
    tasks: Sequence[Task], ways: Sequence[Way], pace: Pace, seconds: float, tokens: int | None
) -> list[Task]:
    """The shortest prompts, and answers as long, as fit the time, for at least `FEWEST` prompts.

    Args:
        tasks: to choose from.
        ways: each is run on each of them, the first one twice.
        pace: of the warm-up.
        seconds: there are for the blocks and for the splits after them, which take about one block.
        tokens: of an answer; None takes what fits.
    """
    by_length = sorted(tasks, key=lambda task: len(task.tokens))
    fit: list[Task] = []
    for limit in (tokens,) if tokens else QUICK_TOKENS:
        fit, left = [], seconds
        for task in (limited(task, limit) for task in by_length):
            block = 2 * expected_run(pace, task, reads=False, slow=False)
            block += len(ways[1:]) * expected_run(pace, task, reads=False, slow=True)
            block += expected_run(pace, replace(task, max_tokens=0), reads=True, slow=False)
            left -= block
            if left < block and len(fit) >= FEWEST:
                break
            fit.append(task)
        if left >= 0:
            break
    return fit


def limited(task: Task, tokens: int) -> Task:
    return replace(task, max_tokens=min(task.max_tokens, tokens))
