"""From a target and some prompts to a finished record: what `specchat bench` does between its ends."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from bench import journal as journals
from bench.design import Design, Task, Way, WrongDesign, sweep_ways
from bench.journal import Journal
from bench.measure import Bench, Clock
from bench.peers import peer_decoders, peer_ways, settle, takes
from bench.prompts import Prompt, PromptSet
from bench.record import Pace, Record
from bench.split import measure_splits
from bench.statistics import FEWEST
from bench.sweep import Sweep, duration, expected_run
from bench.ways import Decoder, Pair, engine_decoders
from mlx_spec.options import Sampling
from models.loaded import Loaded

KS = (1, 2, 3, 4, 6, 8)
QUICK_KS = (2, 4)
TOKENS = 64
QUICK_TOKENS = (32, 24, 16, 12)  # as many as the time allows
PROMPTS = 24
QUICK_SECONDS = 100.0  # for warming up, blocks and splits; loading comes before
SPLIT_TOKENS = 24
SPLIT_PROMPTS = 2
WARM_UP_TOKENS = 8


@dataclass(frozen=True)
class Options:
    """What a person may choose.

    Attributes:
        peers: compare with other programs instead of sweeping K.
        quick: in less than two minutes.
        ks: to sweep; None takes the default of the mode.
        sources: draft sources, as `--draft` names them.
        prompts: how many at most, evenly from all classes; 0 takes all.
        repeats: blocks of each prompt.
        tokens: of an answer at most; None takes the default of the mode.
        seed: of the order, and of sampled prompts.
        folder: where samples are kept as they come; None keeps none.
        resume: the folder holds a sweep to go on with.
    """

    peers: bool = False
    quick: bool = False
    ks: tuple[int, ...] | None = None
    sources: tuple[str, ...] = ("lookup",)
    prompts: int = PROMPTS
    repeats: int = 1
    tokens: int | None = None
    seed: int = 0
    folder: Path | None = None
    resume: bool = False


@dataclass(frozen=True)
class Seams:
    """What the surroundings give.

    Attributes:
        clock: seconds.
        stopped: whether to come to an end.
        say: takes a sentence that stays.
        progress: takes a sentence that holds for a moment.
    """

    clock: Clock
    stopped: Callable[[], bool]
    say: Callable[[str], None]
    progress: Callable[[str], None]


def run(
    pair: Pair,
    prompts: PromptSet,
    sampling: Sampling,
    render: Callable[[Prompt], list[int]],
    options: Options,
    seams: Seams,
) -> tuple[Record, bool]:
    """Measure.

    Args:
        pair: target and draft model.
        prompts: to choose from.
        sampling: where a prompt does not want it otherwise.
        render: a prompt's token ids.
        options: of the person.
        seams: clock and the like.

    Returns:
        The record, and whether it is complete.

    Raises:
        WrongDesign: no prompt fits the context, or the folder holds another sweep.
        SpecError: a sample cannot be kept.
    """
    started = seams.clock()
    earlier = _earlier(options)
    ways = _ways(options, pair)
    tasks = _tasks(chosen(prompts, options), sampling, render, options, pair)
    cold = not options.quick
    decoders: dict[str, Decoder] = {**engine_decoders(pair, ways, cold)}
    decoders |= peer_decoders(pair, ways, seams.clock)
    bench = Bench(decoders, clock=seams.clock, stopped=seams.stopped, settle=settle)
    seams.progress("Warming up")
    shortest = min(tasks, key=lambda task: len(task.tokens))
    warm = replace(shortest, max_tokens=min(WARM_UP_TOKENS, shortest.max_tokens))
    pace = bench.warm_up(ways[0].name, warm)
    if pace is None:
        return earlier or Record(_design(options, pair, ways, tasks, cold)), False
    deadline = started + QUICK_SECONDS if options.quick else None
    if earlier:
        places = {prompt: i for i, (prompt, *_) in enumerate(earlier.design.prompts)}
        tasks = sorted((t for t in tasks if t.prompt in places), key=lambda t: places[t.prompt])
        if options.tokens is None:  # then time may have decided
            tasks = [_limited(task, earlier.design.tokens) for task in tasks]
    elif deadline is not None:
        tasks = fitting(tasks, ways, pace, deadline - seams.clock(), options.tokens)
    design = _design(options, pair, ways, tasks, cold)
    if earlier and (difference := earlier.design.difference(design)):
        raise WrongDesign(
            f"{options.folder} was begun with {difference}.",
            "Give the options of its beginning, or another folder.",
        )
    record = earlier or Record(design)
    return record, _measure(record, pair, tasks, bench, pace, options, seams, deadline)


def _measure(
    record: Record,
    pair: Pair,
    tasks: Sequence[Task],
    bench: Bench,
    pace: Pace,
    options: Options,
    seams: Seams,
    deadline: float | None,
) -> bool:
    journal = Journal(options.folder) if options.folder else None
    try:
        if journal and not options.resume:
            journal.add("design", record.design.as_json())
        sweep = Sweep(record, tasks, bench, pace, seams.clock, journal, seams.say, seams.progress)
        runs, seconds = sweep.left
        seams.say(f"{runs} runs, about {duration(seconds)}. Ctrl+C ends early and keeps what is done.")
        done = sweep.run(deadline)
        if done and not options.peers and not record.splits:
            seams.progress("Splitting rounds into their parts")
            done = _split(sweep, pair, tasks, seams, options.seed)
        sweep.end()
        return done
    finally:
        if journal:
            journal.close()


def _split(sweep: Sweep, pair: Pair, tasks: Sequence[Task], seams: Seams, seed: int) -> bool:
    """Time the parts of rounds on the prompts that had most of them; false if it was stopped."""
    record = sweep.record
    rounds = dict.fromkeys((task.prompt for task in tasks), 0)
    for sample in record.samples:
        rounds[sample.prompt] += sample.counts.rounds
    quick = not record.design.cold
    busiest = sorted(tasks, key=lambda task: -rounds[task.prompt])[: 1 if quick else SPLIT_PROMPTS]
    limit = min(SPLIT_TOKENS, record.design.tokens)
    splits = measure_splits(
        pair,
        [way for way in record.design.ways if way.k != "auto" and way.k != 0],
        [_limited(task, limit) for task in busiest],
        clock=seams.clock,
        stopped=seams.stopped,
        seed=seed,
    )
    for split in splits:
        sweep.add(split)
    return not seams.stopped()


def _earlier(options: Options) -> Record | None:
    if not options.folder:
        return None
    if not options.resume:
        if (options.folder / journals.FILE).exists():
            raise WrongDesign(
                f"{options.folder} holds a sweep already.",
                "Go on with it by --resume, or name another folder.",
            )
        return None
    head, *entries = journals.read(options.folder) or [{}]
    try:
        record = Record(Design.from_json({name: value for name, value in head.items() if name != "kind"}))
        for entry in entries:
            record.take(entry)
    except (KeyError, TypeError):
        raise WrongDesign(
            f"{options.folder / journals.FILE} is of another version.", "Start anew in another folder."
        ) from None
    return record


def _ways(options: Options, pair: Pair) -> list[Way]:
    sources = ["model" if source.startswith("model:") else source for source in options.sources]
    if options.peers:
        return peer_ways(sources[0], pair.draft is not None)
    return sweep_ways(sources, options.ks or (QUICK_KS if options.quick else KS))


def chosen(prompts: PromptSet, options: Options) -> list[Prompt]:
    """The prompts to measure on: as many as asked for, the classes taking turns."""
    if options.quick:
        return list(prompts.quick().prompts)
    groups = {name: [p for p in prompts.prompts if p.group == name] for name in prompts.groups}
    most = max(map(len, groups.values()))
    turns = [group[i] for i in range(most) for group in groups.values() if i < len(group)]
    return turns[: options.prompts] if options.prompts else turns


def _tasks(
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
        raise WrongDesign(f"No prompt fits a context of {context} tokens.", "Choose shorter --prompts.")
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
        for task in (_limited(task, limit) for task in by_length):
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


def _limited(task: Task, tokens: int) -> Task:
    return replace(task, max_tokens=min(task.max_tokens, tokens))


def _design(options: Options, pair: Pair, ways: list[Way], tasks: Sequence[Task], cold: bool) -> Design:
    content = [[task.tokens, asdict(task.sampling), task.max_tokens] for task in tasks]
    return Design(
        bench="peers" if options.peers else "sweep",
        model=_described(pair.target),
        draft=_described(pair.draft) if pair.draft else None,
        ways=ways,
        prompts=[(task.prompt, task.group, task.repeatable) for task in tasks],
        prompt_hash=hashlib.sha256(json.dumps(content).encode()).hexdigest(),
        repeats=options.repeats,
        tokens=max(task.max_tokens for task in tasks),
        seed=options.seed,
        cold=cold,
    )


def _described(loaded: Loaded) -> dict[str, Any]:
    """What a model is; where its files are is nobody's business."""
    info = loaded.info
    names = ("name", "family", "quantization", "dtype", "revision", "nbytes")
    return {name: getattr(info, name) for name in names}
