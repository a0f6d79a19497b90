"""Answer one prompt on stdout; status, warnings and statistics go to stderr."""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Callable
from contextlib import closing

from app import config, interrupt, prompt
from app.answer import Answer, as_event, as_object, dump, summary
from app.assistant import Assistant, Message
from app.display import neutralise
from app.errors import INTERRUPTED, tell
from app.status import Status
from mlx_spec.errors import SpecError
from mlx_spec.events import Round


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "prompt", nargs="?", metavar="PROMPT", help="the question; - or nothing reads it from stdin"
    )
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="one JSON object instead of text")
    output.add_argument("--jsonl", action="store_true", help="one JSON line a round, then the object")
    parser.add_argument("--stats", action="store_true", help="say on stderr what speculation did")


def run(args: argparse.Namespace, given: config.Given) -> int:
    settings = config.read(given)
    question, warnings = prompt.read(args.prompt, sys.stdin)
    status = Status(sys.stderr)
    try:
        assistant = Assistant.load(settings, status.show)
    finally:
        status.clear()
    try:
        warnings = [*assistant.warnings, *warnings]
        for warning in warnings:
            tell("warning", warning)
        write = _as_lines if args.jsonl else None if args.json else _as_text
        answer = _stream(assistant, question, write, status)
        _measure(assistant, answer, status)
        if said := _verdict(assistant):
            kind, sentence = said
            tell(kind, sentence)
            if kind == "warning":
                warnings.append(sentence)
        if args.json or args.jsonl:
            sys.stdout.write(dump(as_object(answer, assistant, warnings)))
            sys.stdout.flush()
        if args.stats:
            for line in summary(answer, assistant):
                sys.stderr.write(f"specchat: {neutralise(line)}\n")
    finally:
        assistant.close()
    if answer.finish_reason == "error":
        raise SpecError("The engine could not finish the answer.")
    return INTERRUPTED if answer.finish_reason == "interrupt" else 0


def _stream(
    assistant: Assistant, question: str, write: Callable[[Round], None] | None, status: Status
) -> Answer:
    answer = Answer()
    status.show_passing("Reading the prompt" if write else "Answering")
    try:
        rounds = assistant.answer([Message("user", question)])
        with closing(rounds), interrupt.first_calls(assistant.stop):
            for news in rounds:
                answer.add(news)
                if write:
                    status.clear()
                    write(news)
                    sys.stdout.flush()
    finally:
        status.clear()
        if write is _as_text and answer.text and not answer.text.endswith("\n"):
            sys.stdout.write("\n")
            sys.stdout.flush()
    return answer


def _measure(assistant: Assistant, answer: Answer, status: Status) -> None:
    """Once for each pair on each machine, measure it: the answer is out, so nothing waits but the prompt."""
    if answer.finish_reason in ("interrupt", "error"):
        return
    skipped = threading.Event()
    with closing(assistant.measure()) as calls, interrupt.first_calls(skipped.set):
        for number, _ in enumerate(calls):
            if number == 0:
                status.show("Measuring this model on this machine, once. Ctrl+C skips it.")
            if skipped.is_set():
                break
    status.clear()
    if unkept := assistant.keep():
        tell("warning", unkept)


def _verdict(assistant: Assistant) -> tuple[str, str] | None:
    """What to say of speculation unless it pays: a warning if it costs or is not there, else a note."""
    verdict = assistant.metrics.verdict
    if verdict is None or verdict.cause == "user":
        return None
    if verdict.kind == "parked":
        return "note", verdict.sentence
    return ("warning", verdict.sentence) if verdict.kind in ("slower", "off") else None


def _as_text(news: Round) -> None:
    sys.stdout.write(neutralise(news.text))


def _as_lines(news: Round) -> None:
    sys.stdout.write(dump(as_event(news)))
