"""Sweep K against plain decoding, compare two sweeps, or compare with other programs."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app import interrupt
from app.assistant.template import Message, Template
from app.display import neutralise
from app.errors import INTERRUPTED, UsageError, tell
from app.settings import config
from app.settings.settings import OPTIONS, Settings
from app.subcommands.status import Status
from mlx_spec.errors import SpecError
from mlx_spec.options import EngineOptions

if TYPE_CHECKING:
    from bench.findings import Findings
    from bench.options import Options
    from bench.prompts import PromptSet
    from bench.prompts.entry import Prompt
    from bench.record import Record


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("words", nargs="*", metavar="peers | compare A B", help="A and B are folders that --out made")
    add("--quick", action="store_true", help="in less than two minutes; intervals are wide")
    add("--ks", metavar="K,K", help="draft tokens a round to sweep; 0 and auto are always among them")
    add("--sources", metavar="SOURCE,SOURCE", help="draft sources to sweep (default: that of --draft)")
    own = parser.add_mutually_exclusive_group()
    own.add_argument("--prompts", type=Path, metavar="FILE", help="your own prompts, not the built-in ones")
    history = "the first questions of your N latest chats; reports have their checksums and no text"
    own.add_argument("--from-history", type=int, metavar="N", help=history)
    add("--count", type=int, metavar="N", help="prompts at most, evenly from all classes; 0 takes all (24)")
    add("--repeats", type=int, default=1, metavar="N", help="blocks of each prompt (default: 1)")
    add("--tokens", type=int, metavar="N", help="tokens of an answer at most (default: 64)")
    folder = parser.add_mutually_exclusive_group()
    folder.add_argument("--out", metavar="DIR", help="keep samples, results and a report there")
    folder.add_argument("--resume", metavar="DIR", help="go on with what --out began")
    add("--json", action="store_true", help="one JSON object instead of a table")


def run(args: argparse.Namespace, given: config.Given) -> int:
    match args.words:
        case ["compare", first, second]:
            return _compare(Path(first), Path(second), args.json)
        case [] | ["peers"]:
            return _measure(args, given)
        case ["compare", *_]:
            raise UsageError("Two sweeps are compared.", "Write specchat bench compare FOLDER FOLDER.")
        case ["peers", word, *_]:
            raise UsageError(f"bench peers takes no {word!r}.", "Write specchat bench peers.")
        case [word, *_]:
            raise UsageError(f"bench does not know {word!r}.", "Write peers, compare A B, or nothing.")
    raise AssertionError(args.words)


def _compare(first: Path, second: Path, as_json: bool) -> int:
    from bench import compare
    from bench.report import results, terminal

    records = [results.read(path) for path in (first, second)]
    for path, record in zip((first, second), records, strict=True):
        results.known(record, str(path))
    changes = compare.compare(*records)
    differences = compare.differences(*records)
    if not changes:
        raise SpecError("The two sweeps have no way of decoding in common.", "Name two of the same kind.")
    if as_json:
        found = {"ways": [change.as_json() for change in changes], "differences": differences}
        sys.stdout.write(json.dumps(found) + "\n")
        return 0
    for line in [*terminal.aligned(compare.as_table(changes)), *differences]:
        sys.stdout.write(neutralise(line) + "\n")
    return 0


def _measure(args: argparse.Namespace, given: config.Given) -> int:
    settings = config.read(given)
    options = _options(args, settings)
    unused = config.unused(settings, "bench", "k", "max_tokens", "stop", "trace", "cache")
    for warning in [*settings.warnings, *unused, *_idle(args)]:
        tell("warning", warning)

    from bench.run import Seams, run

    prompts = _prompts(args)
    status = Status(sys.stderr)
    stop = threading.Event()
    try:
        pair = _load(settings, options, status)

        template = Template(pair.target.tokenizer, settings.system)

        def render(prompt: Prompt) -> list[int]:
            return template.tokens([Message(*turn) for turn in prompt.turns])

        def say(sentence: str) -> None:
            status.clear()
            sys.stderr.write(neutralise(f"specchat: {sentence}\n"))
            sys.stderr.flush()

        seams = Seams(time.perf_counter, stop.is_set, say, status.show_passing)
        if options.peers:
            _say_missing_peers(say)
        with interrupt.first_calls(stop.set):
            record, complete = run(pair, prompts, settings.sampling, render, options, seams)
    finally:
        status.clear()
    _report(record, options, args.json)
    if complete:
        return 0
    if options.folder and record.samples:
        tell("warning", f"Stopped early. Go on with it: {_resuming(options.folder)}")
    return INTERRUPTED


def _prompts(args: argparse.Namespace) -> PromptSet:
    from bench import prompts as sets

    if args.from_history is not None:
        from app.subcommands.asked import asked
        from models.locations import chats_file

        return asked(chats_file(), args.from_history, lambda sentence: tell("note", sentence))
    return sets.read(args.prompts) if args.prompts else sets.builtin()


def _load(settings: Settings, options: Options, status: Status) -> Any:
    """The target, and the draft model if one of the sources is a model; each is loaded once."""
    from bench.ways import Pair
    from models import load

    target = load(settings.model, dtype=settings.dtype, progress=status.show)
    models = [source.partition(":")[2] for source in options.sources if source.startswith("model:")]
    draft = load(models[0], dtype=settings.dtype, progress=status.show) if models else None
    return Pair(target, draft, settings.engine)


def _report(record: Record, options: Options, as_json: bool) -> None:
    from bench.findings import find
    from bench.report import files

    findings = find(record)
    try:
        if options.folder and record.samples:
            written = files.write(options.folder, record, findings)
            sys.stderr.write(neutralise(f"specchat: wrote {', '.join(map(str, written))}\n"))
    finally:  # a full disk takes nothing from the screen
        _show(record, findings, as_json)


def _show(record: Record, findings: Findings | None, as_json: bool) -> None:
    from bench.report import results, terminal

    if as_json:
        found = results.as_json(record, findings)
        del found["samples"], found["splits"]
        sys.stdout.write(json.dumps(found, allow_nan=False) + "\n")
    elif findings:
        sys.stdout.write(neutralise(terminal.report(record, findings)))
    else:
        tell("warning", "No block was finished, so there is nothing to conclude.")


def _options(args: argparse.Namespace, settings: Settings) -> Options:
    """What the command line asks for, checked.

    Raises:
        UsageError: a number or a source makes no sense.
    """
    from bench.options import MOST_REPEATS, PROMPTS, Options

    least = {"count": 0, "repeats": 1, "tokens": 12, "from_history": 1}
    for name, bound in least.items():
        value = getattr(args, name)
        if value is not None and value < bound:
            flag = name.replace("_", "-")
            raise UsageError(f"--{flag} must be at least {bound}, not {value}.", "Choose more.")
    if args.repeats > MOST_REPEATS:
        raise UsageError(f"--repeats must be at most {MOST_REPEATS}, not {args.repeats}.", "Choose fewer.")
    for name in ("out", "resume"):
        if getattr(args, name) == "":
            raise UsageError(f"--{name} names no folder.", f"Write --{name} FOLDER.")
    sources = _sources(settings.draft if args.sources is None else args.sources)
    peers = args.words == ["peers"]
    if peers and len(sources) > 1:
        raise UsageError("bench peers compares one draft source.", "Name one in --sources.")
    folder = args.out if args.resume is None else args.resume
    return Options(
        peers=peers,
        quick=args.quick,
        ks=None if args.ks is None else _ks(args.ks),
        sources=sources,
        prompts=(args.from_history or PROMPTS) if args.count is None else args.count,
        repeats=args.repeats,
        tokens=args.tokens,
        seed=settings.seed or 0,
        folder=None if folder is None else Path(folder),
        resume=args.resume is not None,
    )


def _ks(text: str) -> tuple[int, ...]:
    try:
        ks = sorted({int(part) for part in text.split(",")} - {0})
    except ValueError:
        raise UsageError(f"--ks must be numbers such as 1,2,4, not {text!r}.", "Write --ks 1,2,4.") from None
    if not ks or ks[0] < 1 or ks[-1] > EngineOptions.MAX_K:
        raise UsageError(f"--ks must lie between 1 and {EngineOptions.MAX_K}.", "Write --ks 1,2,4.")
    return tuple(ks)


def _sources(text: str) -> tuple[str, ...]:
    """Draft sources, each named as `--draft` names it."""
    kind = next(option.kind for option in OPTIONS if option.name == "draft")
    try:
        named = [kind.from_text(part.strip()) for part in text.split(",")]
    except ValueError as error:
        raise UsageError(f"--sources: {error}.", "Write --sources lookup,self.") from None
    if "none" in named:
        raise UsageError(
            "There is nothing to sweep without a draft source.", "Plain decoding is always there."
        )
    if sum(source.startswith("model:") for source in named) > 1:
        raise UsageError("One draft model can be swept at a time.", "Sweep the other one by itself.")
    return tuple(dict.fromkeys("lookup" if source == "auto" else source for source in named))


def _idle(args: argparse.Namespace) -> list[str]:
    """What was given of bench's own and changes nothing in this mode, in sentences."""
    said = []
    if args.words == ["peers"] and args.ks is not None:
        said.append("bench peers makes no use of --ks: it compares at mlx-lm's own K.")
    if args.quick and args.count is not None:
        said.append("--quick makes no use of --count: the time decides.")
    return said


def _say_missing_peers(say: Any) -> None:
    from bench.peers import MLX_DSPARK, has_dspark

    if not has_dspark():
        say(f"{MLX_DSPARK} is not installed, so its lookup mode is left out.")


def _resuming(folder: Path) -> str:
    """The command that goes on: the one that was given, with --resume instead of --out."""
    words = list(sys.argv[1:])
    for flag in ("--out", "--resume"):
        if flag in words:
            at = words.index(flag)
            del words[at : at + 2]
        words = [word for word in words if not word.startswith(f"{flag}=")]
    return shlex.join(["specchat", *words, "--resume", str(folder)])
