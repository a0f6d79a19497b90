"""What a path that is being typed after an @ may become."""

from __future__ import annotations

import os
import unicodedata
from itertools import islice
from pathlib import Path

from app.files.names import path_of, quoted

SHOWN = 50
_LOOKED_AT = 10_000  # names in one folder, so that a huge one cannot halt the screen


def paths(prefix: str, cwd: Path) -> list[str]:
    """The paths that start with `prefix`, as they are written after the @.

    A folder ends in /; where there is white space, the path is quoted, and a folder's quote stays open. What
    starts with a dot is offered once the dot is typed. Capitals and ways to compose letters do not matter.
    Whatever cannot be looked at is offered as nothing.

    Args:
        prefix: what stands after the @ so far, perhaps from a quote on.
        cwd: the folder that relative paths start from.

    Returns:
        At most SHOWN, folders and files together in the order of their names; first those in which the
        capitals agree too.
    """
    folder, slash, start = prefix.removeprefix('"').rpartition("/")
    base = folder + slash
    try:
        with os.scandir(path_of(base, cwd)) as entries:
            names = [
                entry.name + "/" * entry.is_dir()
                for entry in islice(entries, _LOOKED_AT)
                if _key(entry.name).startswith(_key(start)) and _can_be_typed(entry.name)
            ]
    except (OSError, ValueError):  # ValueError: a NUL in the prefix
        return []
    hidden = start.startswith(".")
    offered = [name for name in names if hidden or not name.startswith(".")]
    offered.sort(key=lambda name: (not name.startswith(start), _key(name), name))
    return [_written(base + name, prefix) for name in offered[:SHOWN]]


def _written(path: str, prefix: str) -> str:
    open_quote = prefix.startswith('"')
    written = f'"{path}"' if open_quote else quoted(path)
    return written.removesuffix('"') if path.endswith("/") else written


def _key(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _can_be_typed(name: str) -> bool:
    """A name with control characters, bytes that are no text, or a quote cannot stand after an @."""
    return '"' not in name and all(unicodedata.category(char) not in ("Cc", "Cs") for char in name)
