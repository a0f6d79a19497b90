"""How attached files stand in a prompt."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath

from app.display import neutralise
from app.files.records import Attachment

_FENCE = "```"
_LINE = str.maketrans("\n\t", "␊␉")


def prompt_of(text: str, attachments: Sequence[Attachment]) -> str:
    """A question with its files before it, so that another question about them starts with the same tokens.

    Each file stands unchanged between two fences, which are longer than any in it: what a model copies from
    it, and what a draft source finds there, is what the file says.
    """
    names = _names(attachments)
    files = [_fenced(name, file.text) for name, file in zip(names, attachments, strict=True)]
    return "\n\n".join(part for part in (*files, text) if part)


def _fenced(name: str, text: str) -> str:
    runs = re.findall(r"`{3,}", text)
    fence = max([_FENCE, *(run + "`" for run in runs)], key=len)
    end = "" if text.endswith(("\n", "\r")) else "\n"
    return f"File {name}:\n{fence}\n{text}{end}{fence}"


def _names(attachments: Sequence[Attachment]) -> list[str]:
    """What each file is called: its name, or its path where several have the same name."""
    short = [PurePath(file.path).name for file in attachments]
    often = Counter(short)
    full = [name if often[name] == 1 else file.path for name, file in zip(short, attachments, strict=True)]
    return [neutralise(name).translate(_LINE) for name in full]
