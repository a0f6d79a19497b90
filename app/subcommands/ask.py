"""Answer one prompt on stdout; status, warnings and statistics go to stderr."""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import closing

from app import interrupt
from app.answer import Answer, as_object, dump, summary
from app.assistant.assistant import Assistant, PromptProgress
from app.assistant.template import Message
from app.display import neutralise
from app.errors import INTERRUPTED, tell
from app.settings import config
from app.subcommands import prompt
from app.subcommands.output import Lines, Output, Words
from app.subcommands.status import Status
from app.thinking import Thinking
from mlx_spec.errors import SpecError
from mlx_spec.events import Round

PATIENCE = 1.0  # seconds before it is said how far a prompt is read


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "prompt", nargs="?", metavar="PROMPT", help="the question; - or nothing reads it from stdin"
    )
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="one JSON object instead of text")
    output.add_argument("--jsonl", action="store_true", help="one JSON line an event, then the object")
    parser.add_argument("--stats", action="store_true", help="say on stderr what speculation did")


def run(args: argparse.Namespace, given: config.Given) -> int:
    settings = config.read(given)
    question, doubts = prompt.read(args.prompt, sys.stdin, text_first=settings.cache is not None)
    status = Status(sys.stderr)
    try:
        assistant = Assistant.load(settings, status.show)
    finally:
        status.clear()

    warnings: list[str] = []

    def warn(sentence: str) -> None:
        warnings.append(sentence)
        tell("warning", sentence)

    try:
        for sentence in [*assistant.warnings, *doubts]:
            warn(sentence)
        output = Lines() if args.jsonl else Output() if args.json else Words()
        answer = Answer()
        rounds = assistant.answer([Message("user", question)], progress=_progress(answer, output, status))
        for sentence in assistant.notices:
            warn(sentence)
        answer.thinking = Thinking(assistant.markers)
        try:
            _stream(assistant, rounds, answer, output, status)
        finally:  # also when nobody reads on (`| head`): what the model has read stays worth keeping
            if (unsaved := assistant.save()) is not None:
                warn(unsaved)
        _measure(assistant, answer, status)
        if (said := _verdict(assistant)) is not None:
            kind, sentence = said
            warn(sentence) if kind == "warning" else tell(kind, sentence)
        for sentence in _findings(assistant, answer):
            warn(sentence)
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


def _progress(answer: Answer, output: Output, status: Status) -> PromptProgress:
    """What is told of a prompt while it is read."""
    begun = time.monotonic()

    def tell_progress(read: int, total: int) -> None:
        output.prefilled(read, total)
        # Once the answer has begun, the status would overwrite its line.
        if not answer.tokens and time.monotonic() - begun > PATIENCE:
            status.show_passing(f"Reading the prompt: {read:,} of {total:,} tokens")

    return tell_progress


def _stream(
    assistant: Assistant,
    rounds: Generator[Round, None, None],
    answer: Answer,
    output: Output,
    status: Status,
) -> None:
    status.show_passing("Reading the prompt" if output.shows else "Answering")
    try:
        with closing(rounds), interrupt.first_calls(assistant.stop):
            for news in rounds:
                split = answer.add(news)
                if output.shows:
                    status.clear()
                output.round(news, split)
    finally:
        status.clear()
        output.close()


def _measure(assistant: Assistant, answer: Answer, status: Status) -> None:
    """Once for each pair on each machine, measure it: the answer is out, so nothing waits but the prompt."""
    if answer.finish_reason in ("interrupt", "error"):
        return
    skipped = threading.Event()
    with closing(assistant.measure()) as calls, interrupt.first_calls(skipped.set):
        for number, _ in enumerate(calls):
            if number == 0:
                status.show("Measuring this model on this machine. Ctrl+C skips it.")
            if skipped.is_set():
                break
    status.clear()
    if assistant.metrics.spoilt:
        tell("note", "Other programs kept this machine too busy to measure it; the next answer tries again.")


def _verdict(assistant: Assistant) -> tuple[str, str] | None:
    """What to say of speculation unless it pays: a warning if it costs or is not there, else a note."""
    verdict = assistant.metrics.verdict
    if verdict is None or verdict.cause == "user":
        return None
    if verdict.kind == "parked":
        return "note", verdict.sentence
    return ("warning", verdict.sentence) if verdict.kind in ("slower", "off") else None


def _findings(assistant: Assistant, answer: Answer) -> Iterator[str]:
    """What nobody should have to find out alone."""
    if answer.thinking.unfinished:
        yield "The answer ended before the model had finished thinking."
    if assistant.metrics.context_full:
        yield f"The answer was cut: the context of {assistant.context_limit:,} tokens is full."
    yield from filter(None, [assistant.keep()])
