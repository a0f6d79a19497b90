"""From an exception to an exit code and one sentence that names the next step."""

from __future__ import annotations

import os
import sys
import traceback
from difflib import get_close_matches

from app.display import neutralise
from bench.design import WrongDesign
from bench.prompts import PromptsError
from mlx_spec.errors import SpecError
from models.errors import ModelError

FAILURE, USAGE, NO_MODEL, INTERRUPTED = 1, 2, 3, 130


class UsageError(SpecError):
    """What was asked for makes no sense: an option, a setting, a prompt."""


def exit_code(error: BaseException) -> int:
    """The exit code that stands for `error`."""
    match error:
        case UsageError() | PromptsError() | WrongDesign():
            return USAGE
        case ModelError():
            return NO_MODEL
        case _:
            return FAILURE


def sentence(error: BaseException) -> str:
    """What went wrong and what to do about it, for a person."""
    match error:
        case SpecError():
            return f"{error.message} {error.next_step}".strip()
        case OSError() if error.strerror and error.filename is not None:
            return f"{os.fsdecode(error.filename)}: {error.strerror}."
        case OSError() if error.strerror:
            return f"{error.strerror}."
        case _:
            what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            return f"{what}. This is a defect in specchat; run again with SPECCHAT_DEBUG=1 to see where."


def report(error: BaseException) -> int:
    """Print `error` as one sentence on stderr, with its traceback if SPECCHAT_DEBUG is set.

    Returns:
        The exit code.
    """
    if os.environ.get("SPECCHAT_DEBUG"):
        traceback.print_exception(error)
    tell("error", sentence(error))
    return exit_code(error)


def tell(kind: str, text: str) -> None:
    """Write one line about the program itself to stderr; `kind` is "error", "warning" or "note"."""
    sys.stderr.write(neutralise(f"specchat: {kind}: {text}\n"))
    sys.stderr.flush()


def did_you_mean(word: str, known: list[str]) -> str:
    """A question that offers the nearest known word, or the empty string."""
    near = get_close_matches(word, known, n=1, cutoff=0.6)
    return f"Did you mean {near[0]}?" if near else ""
