"""Files that a prompt names: @notes.txt, or @"my notes.txt" where there are spaces in it.

Only what names an existing file is a mention; e-mail addresses, code and all else stay text.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app.files.names import is_file, path_of

# No letter, digit or part of an address before it.
_AT = re.compile(r'(?<![\w.+\-/@\\=%&])@(?:"([^"\n]+)"|([^\s"]{1,1024}))')  # no system has longer paths
_LIKE_A_PATH = re.compile(r"/|\w\.[^\W\d]")
_CODE = re.compile(
    r"^ {0,3}(?P<fence>```+|~~~+).*?(?:^ {0,3}(?P=fence)[`~]*[ \t]*$|\Z)"
    r"|(?<!`)(?P<ticks>`+)(?!`)(?:(?!\n[ \t]*\n).)+?(?<!`)(?P=ticks)(?!`)"
    r"|^[ \t]*@[^\n]*\n(?=[ \t]*(?:@|def |class |async |public |private |export |function ))",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Mention:
    """A file named in a prompt.

    Attributes:
        start, end: characters of the prompt, from the @ on.
        path: of the file, absolute.
    """

    start: int
    end: int
    path: Path


def mentions(text: str, cwd: Path) -> tuple[Mention, ...]:
    """The files that a prompt names, in order; one that is named twice is there twice.

    Args:
        text: the prompt.
        cwd: the folder that relative paths start from.
    """
    found = []
    for at in _runs(text):
        names = [at[1]] if at[1] else _names(at[2])
        for name in names:
            path = path_of(name, cwd)
            if is_file(path):
                end = at.end() if at[1] else at.start() + 1 + len(name)
                found.append(Mention(at.start(), end, path))
                break
    return tuple(found)


def misses(text: str, cwd: Path) -> tuple[str, ...]:
    """What looks in a prompt as if it named a file, and names none, as it is written, each once.

    That is what is in quotes, or has a slash or a suffix. A name alone may be a person's.

    Args:
        text: the prompt.
        cwd: the folder that relative paths start from.
    """
    hits = {mention.start for mention in mentions(text, cwd)}
    missed = (at for at in _runs(text) if at.start() not in hits)
    likely = (at[0] for at in missed if at[1] or _LIKE_A_PATH.search(at[2]))
    return tuple(dict.fromkeys(each.rstrip(",;:!?)]}>'`.") for each in likely))


def _runs(text: str) -> Iterator[re.Match[str]]:
    """Each @ with what follows it, outside of code."""
    code = [match.span() for match in _CODE.finditer(text)] if "@" in text else []
    for at in _AT.finditer(text):
        before = bisect_right(code, (at.start(), len(text)))
        if not (before and at.start() < code[before - 1][1]):
            yield at


def _names(run: str) -> Iterator[str]:
    """What a run without spaces may name, longest first: `a.txt).`, `a.txt`.

    It ends before a sign that ends clauses, before full stops at its end, and where ASCII ends: Korean puts
    its particles, and Chinese its words, right behind a name.
    """
    yield run
    for at in range(len(run) - 1, 0, -1):
        if _ends(run, at):
            yield run[:at]


def _ends(run: str, at: int) -> bool:
    char = run[at]
    if char.isascii():
        return char in ",;:!?)]}>'`" or (char == "." and not any(c.isalnum() for c in run[at:]))
    return run[at - 1].isascii() or unicodedata.category(char)[0] == "P"
