"""File names as people type them."""

from __future__ import annotations

import re
from pathlib import Path


def path_of(name: str, cwd: Path) -> Path:
    """The file that `name` stands for; it may start with ~ or ~user, and may be relative to `cwd`."""
    path = Path(name.replace("\0", "␀"))  # no file has that name, and systems fail on it
    try:
        return cwd / path.expanduser()
    except RuntimeError:  # no such user: a name like any other
        return cwd / path


def is_file(path: Path) -> bool:
    """Whether there is a file, as far as can be seen."""
    try:
        return path.is_file()
    except OSError:  # too long a name, a folder that is closed
        return False


def quoted(name: str) -> str:
    """The name as it is typed where white space would end it."""
    return f'"{name}"' if any(char.isspace() for char in name) else name


def unquoted(typed: str) -> str:
    """The name in what was typed, or dropped into the terminal as a shell would read it.

    White space around it, quotes of either kind, and backslashes before what is no letter or digit go.
    """
    name = typed.strip()
    if len(name) > 1 and name[0] == name[-1] and name[0] in "\"'":
        return name[1:-1]
    return re.sub(r"\\([^\w])", r"\1", name)
