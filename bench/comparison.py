"""One comparison from the command line: ways of decoding against a baseline, on both backends."""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench import report
from bench.backends import BACKENDS, find_blas, measure_in_child
from bench.interleave import Turns, Way, interleave
from bench.prompts import builtin
from bench.ways import settle
from mlx_spec.errors import SpecError
from models import load
from models.loaded import Loaded
from models.tokenizer import render_chat


@dataclass(frozen=True)
class Comparison:
    """What is compared.

    Attributes:
        module: the module to run it as, such as `bench.plain`.
        purpose: one sentence for `--help`.
        baseline: name of the way that the others are measured against.
        ways: makes the ways by name, given the target and how many tokens each answer may have.
    """

    module: str
    purpose: str
    baseline: str
    ways: Callable[[Loaded, int], Mapping[str, Way]]


def run(comparison: Comparison, arguments: Sequence[str]) -> int:
    """Measure, print the table and the JSON line; the exit code."""
    options = _parser(comparison).parse_args(arguments)
    load_before = os.getloadavg()[0]
    if load_before > 0.5 and not options.backend:
        _say(f"Other programs are busy (load {load_before:.1f}): the intervals will be wide.")
    try:
        if options.backend:
            reports = [_measure(comparison, options)]
        else:
            reports = _measure_each(comparison, options, arguments)
    except SpecError as error:
        _say(str(error))
        return 1
    except subprocess.CalledProcessError as error:
        return error.returncode
    summary = {
        "bench": comparison.module,
        "date": report.today(),
        "machine": report.machine(),
        "load_before": round(load_before, 2),
        "model": options.model,
        "tokens": options.tokens,
        "seed": options.seed,
        "baseline": comparison.baseline,
        "backends": reports,
    }
    sys.stdout.write(f"{report.table(reports, comparison.baseline)}\n{json.dumps(summary)}\n")
    return 0


def _measure_each(
    comparison: Comparison, options: argparse.Namespace, arguments: Sequence[str]
) -> list[dict[str, Any]]:
    """Every backend in a process of its own: one preloads a library, and none sees another's memory."""
    blas = find_blas() if options.blas == "auto" else options.blas
    if blas is None and sys.platform == "linux":
        _say("OpenBLAS was not found, so float32 runs on the slow BLAS of the mlx package.")
    reports = []
    for backend in BACKENDS:
        line = measure_in_child(comparison.module, backend, arguments, blas)
        reports += json.loads(line)["backends"]
        if BACKENDS[backend].wants_blas:
            reports[-1]["blas"] = blas
    return reports


def _measure(comparison: Comparison, options: argparse.Namespace) -> dict[str, Any]:
    target = load(options.model, dtype=BACKENDS[options.backend].dtype, progress=_say)
    prompts = [render_chat(target.tokenizer, each.messages) for each in builtin().quick().prompts]
    turns = Turns(tokens=8, order=random.Random(options.seed), settle=settle)
    # A first answer pays for what later ones find ready.
    turns.answer(comparison.ways(target, 4), prompts[0])
    runs = interleave(
        comparison.ways(target, options.tokens),
        prompts,
        turns,
        blocks=options.blocks,
        progress=lambda sentence: _say(f"{options.backend}: {sentence}"),
    )
    return {
        "backend": options.backend,
        "dtype": target.info.dtype,
        "quantization": target.info.quantization,
        "ways": {name: report.row(each, runs[comparison.baseline]) for name, each in runs.items()},
    }


def _parser(comparison: Comparison) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"python -m {comparison.module}",
        description=comparison.purpose,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--model", default="builtin", help="the target")
    add("--blocks", type=_at_least(2), default=8, help="prompts, each answered every way")
    add("--tokens", type=_at_least(20), default=40, help="tokens an answer, at most")
    add("--seed", type=int, default=0, help="of the order of the ways")
    add(
        "--blas",
        default="auto",
        help="library to preload for float32; auto is OpenBLAS, if installed (Linux)",
    )
    add("--backend", choices=BACKENDS, help="measure this one alone, with what is preloaded now")
    return parser


def _at_least(least: int) -> Callable[[str], int]:
    """Two blocks have an interval between them, and twenty tokens a turn that can be timed."""

    def number(text: str) -> int:
        if int(text) < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}")
        return int(text)

    return number


def _say(sentence: str) -> None:
    sys.stderr.write(f"{sentence}\n")
