"""File names as people type them."""

from __future__ import annotations

from pathlib import Path


def path_of(name: str, cwd: Path) -> Path:
    """The file that `name` stands for; it may start with ~ or ~user, and may be relative to `cwd`."""
    path = Path(name)
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
    """The name in what was typed, without white space around it and without quotes."""
    name = typed.strip()
    return name[1:-1] if len(name) > 1 and name[0] == name[-1] == '"' else name
