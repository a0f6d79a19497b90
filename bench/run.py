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
from bench.environment import differing, environment
from bench.journal import Journal
from bench.measure import Bench, Clock
from bench.options import KS, QUICK_KS, QUICK_SECONDS, Options
from bench.peers import peer_decoders, peer_ways, settle
from bench.prompts import PromptSet
from bench.prompts.entry import Prompt
from bench.record import Pace, Record
from bench.split import measure_splits
from bench.sweep import Sweep, duration
from bench.tasks import chosen, fitting, limited, tasks_of
from bench.ways import Decoder, Pair, engine_decoders
from bench.words import plural
from mlx_spec.options import EngineOptions, Sampling
from models.loaded import Loaded

SPLIT_TOKENS = 24
SPLIT_PROMPTS = 2
WARM_UP_TOKENS = 8


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
    wanted = chosen(prompts, options)
    tasks = tasks_of(wanted, sampling, render, options, pair)
    if missing := len(wanted) - len(tasks):
        why = "too long for the context" + (", or sampled as not every peer can" if options.peers else "")
        seams.say(f"{plural(missing, 'prompt')} left out: {why}.")
    cold = not options.quick
    decoders: dict[str, Decoder] = {**engine_decoders(pair, ways, cold)}
    decoders |= peer_decoders(pair, ways, seams.clock)
    bench = Bench(decoders, clock=seams.clock, stopped=seams.stopped, settle=settle)
    seams.say("Warming up")
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
            tasks = [limited(task, earlier.design.tokens) for task in tasks]
    elif deadline is not None:
        tasks = fitting(tasks, ways, pace, deadline - seams.clock(), options.tokens)
    design = _design(options, pair, ways, tasks, cold)
    if earlier:
        _check_same(earlier, design, options.folder)
    record = earlier or Record(design)
    return record, _measure(record, pair, tasks, bench, pace, options, seams, deadline)


def _check_same(earlier: Record, design: Design, folder: Path | None) -> None:
    """Raises WrongDesign where what is to come could not be joined to what there is."""
    if difference := earlier.design.difference(design):
        raise WrongDesign(
            f"{folder} was begun with {difference}.", "Give the options of its beginning, or another folder."
        )
    if earlier.environment and (changed := differing(earlier.environment, environment())):
        raise WrongDesign(f"{folder} was begun with other {changed[0]}.", "Start anew in another folder.")


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
        [limited(task, limit) for task in busiest],
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
    except (KeyError, TypeError, AttributeError):
        raise WrongDesign(
            f"{options.folder / journals.FILE} is damaged, or of another version.",
            "Start anew in another folder.",
        ) from None
    return record


def _ways(options: Options, pair: Pair) -> list[Way]:
    sources = [source.partition(":")[0] for source in options.sources]
    if options.peers:
        return peer_ways(sources[0], pair.draft is not None)
    return sweep_ways(sources, options.ks or (QUICK_KS if options.quick else KS))


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
        engine=_chosen(pair.options),
    )


def _chosen(options: EngineOptions) -> dict[str, Any]:
    """The options that are not the defaults and may change what is measured; K is a way's own."""
    usual = asdict(EngineOptions())
    return {
        name: value
        for name, value in asdict(options).items()
        if name not in ("k", "context") and value != usual[name]
    }


def _described(loaded: Loaded) -> dict[str, Any]:
    """What a model is; where its files are is nobody's business."""
    info = loaded.info
    names = ("name", "family", "quantization", "dtype", "revision", "nbytes")
    return {name: getattr(info, name) for name in names}
