"""The clipboard: what to copy, and what was done, told as it was."""

from __future__ import annotations

import shutil
import subprocess
from base64 import b64encode
from collections.abc import Callable, Mapping

from markdown_it import MarkdownIt

from app.display import neutralise
from app.errors import UsageError

_LARGE = 74_994  # bytes of text: what some terminals take by OSC 52 at most
_MARKDOWN = MarkdownIt("commonmark")


def copy(text: str, send: Callable[[str], None], environ: Mapping[str, str]) -> str:
    """Copy `text`, and return one sentence that says no more than is known.

    Args:
        send: writes it to the terminal as OSC 52; no terminal answers whether it took it.
        environ: the environment.
    """
    count = f"{len(text):,} character{'s' if len(text) != 1 else ''}"
    # From another machine, its clipboard is not the one before the person.
    if "SSH_CONNECTION" not in environ and _gave(text, "pbcopy"):
        return f"Copied {count}."
    if "TMUX" in environ and _gave(text, "tmux", "load-buffer", "-w", "-"):
        return f"Copied {count} to tmux's buffer; tmux offered them to the terminal's clipboard."
    send(text)
    sent = f"Sent {count} to the terminal's clipboard (OSC 52)"
    if len(text.encode(errors="replace")) > _LARGE:
        return f"{sent}; many terminals refuse that many."
    return f"{sent}; it does not say whether it took them."


def osc_52(text: str) -> str:
    """What asks a terminal to put `text` into its clipboard."""
    return f"\x1b]52;c;{b64encode(text.encode(errors='replace')).decode()}\x07"


def code_blocks(answer: str) -> list[str]:
    """The code of each block of code in Markdown, also within lists and quotes."""
    blocks = (token for token in _MARKDOWN.parse(answer) if token.type in ("fence", "code_block"))
    return [neutralise(block.content.removesuffix("\n")) for block in blocks]


def pick(argument: str, answer: str) -> str:
    """What `/copy ARGUMENT` copies of an answer: all of it, or a block of code, counted from 1.

    `code` alone is the last block.

    Raises:
        UsageError: there is no such part.
    """
    if not argument:
        return neutralise(answer)
    word, _, number = argument.partition(" ")
    if word != "code" or not (number.strip() or "1").isdecimal():
        raise UsageError(f"/copy does not know {argument!r}.", "Write /copy, /copy code or /copy code N.")
    blocks = code_blocks(answer)
    if not blocks:
        raise UsageError("The answer has no block of code.", "/copy copies all of it.")
    at = int(number or len(blocks))
    if not 1 <= at <= len(blocks):
        only = "one block" if len(blocks) == 1 else f"{len(blocks)} blocks"
        raise UsageError(f"The answer has {only} of code, no number {at}.", "They count from 1.")
    return blocks[at - 1]


def _gave(text: str, *command: str) -> bool:
    """Hand `text` to a program; False if there is no such program or it failed."""
    if (program := shutil.which(command[0])) is None:
        return False
    given = text.encode(errors="replace")
    try:
        done = subprocess.run(
            [program, *command[1:]], input=given, timeout=2, check=False, capture_output=True
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
