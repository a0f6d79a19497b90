"""Compare plain and speculative decoding on this pair and this machine, token by token."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from app import interrupt
from app.answer import dump
from app.assistant.pair import load_pair
from app.assistant.template import Message, Template
from app.errors import FAILURE, INTERRUPTED, UsageError, tell
from app.settings import config
from app.subcommands.audit_report import Report
from app.subcommands.status import Status
from bench import prompts as prompt_sets

if TYPE_CHECKING:
    from mlx_spec.checks.audit import Audit

TOKENS = 32  # of each answer
# Some repeat themselves, so that a lookup draft has something to be right and wrong about.
PROMPTS = (
    "What is the capital of France?",
    "Repeat exactly: the cat sat on the mat, the cat sat on the mat, the dog sat on the log.",
    "Write a Python function that adds two numbers, then one that subtracts them.",
    "Count from 1 to 20, separated by commas.",
    "List three fruits as JSON objects with the keys name and color.",
    "Begin a story about a lighthouse keeper.",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--prompts",
        type=Path,
        metavar="FILE",
        help='prompts after the built-in ones: one a line, or JSON lines with "prompt" or "turns"',
    )
    parser.add_argument(
        "--tokens",
        type=int,
        default=TOKENS,
        metavar="N",
        help=f"tokens an answer, never above --max-tokens (default: {TOKENS})",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")


def run(args: argparse.Namespace, given: config.Given) -> int:
    settings = config.read(given)
    if args.tokens < 1:
        raise UsageError(f"--tokens must be at least 1, not {args.tokens}.", f"The default is {TOKENS}.")
    if settings.draft == "none" or settings.k == 0:
        raise UsageError(
            "There is no speculation to audit without drafts.", "Choose a --draft, and a --k of at least 1."
        )
    entries = [{"prompt": text} for text in PROMPTS]
    asked = [*prompt_sets.collect("audit", entries).prompts]
    if args.prompts:
        asked += prompt_sets.read(args.prompts).prompts
    status = Status(sys.stderr)
    try:
        pair = load_pair(settings, status.show)
    finally:
        status.clear()
    for warning in [*settings.warnings, *config.unused(settings, "audit", "trace", "stop", "cache")]:
        tell("warning", warning)

    # Only now: it imports MLX.
    from mlx_spec.checks.audit import Audit

    tokens = args.tokens if settings.max_tokens == -1 else min(args.tokens, settings.max_tokens)
    assert pair.source is not None  # "none" was refused
    audit = Audit(pair.target, pair.source, settings.engine, settings.sampling, tokens)
    report = Report(audit, pair.target, pair.draft, sys.stdout if not args.json else None)
    template = Template(pair.target.tokenizer, settings.system)
    prompts = [template.tokens([Message(*turn) for turn in each.turns]) for each in asked]
    with interrupt.first_calls(audit.stop):
        _work(audit, report, list(zip([each.title for each in asked], prompts, strict=True)), status)
    report.finish()
    if args.json:
        sys.stdout.write(dump(report.as_object()))
    if report.bugs:
        return FAILURE
    return INTERRUPTED if report.interrupted else 0


def _work(audit: Audit, report: Report, prompts: Sequence[tuple[str, list[int]]], status: Status) -> None:
    try:
        report.begin()
        for i, (text, tokens) in enumerate(prompts):
            status.show_passing(f"Auditing prompt {i + 1} of {len(prompts)}")
            found = audit.compare(tokens)
            status.clear()
            if found is None:
                report.interrupted = True
                return
            report.add(text, found)
        if audit.law is not None:
            status.show_passing("Playing the acceptance rule")
            report.law = audit.check_law()
            report.interrupted = report.law is None
    finally:
        status.clear()
