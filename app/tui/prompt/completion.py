"""What can be completed where the cursor is: a command, its argument, or the path of a file after `@`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from app.desk.commands import BY_NAME, key_name, matching
from app.tui.sheets.menu import Item

Source = Callable[[str], Sequence[str]]
"""What may take the place of what is written so far, which may begin with a quote."""

PATH = "PATH"  # what `@` completes, and the kind of argument of commands that take a file
_NAME = re.compile(r"/(?!/)(?P<name>\S*)$")
_ARGUMENT = re.compile(r"/(?P<name>\S+)\s+(?P<part>.*)$")
_FILE = re.compile(r'(?:^|(?<=\s))@(?P<part>"[^"]*|[^\s"]*)$')


@dataclass(frozen=True)
class Completion:
    """What may stand in place of a part of a line.

    Attributes:
        start: where that part begins; it ends at the cursor.
        part: what is written of it.
        items: what may take its place; each value is the text.
        preselected: whether Enter takes the first one: something of it is written.
    """

    start: int = 0
    part: str = ""
    items: Sequence[Item] = field(default=())

    @property
    def preselected(self) -> bool:
        return bool(self.part)

    def complete(self) -> bool:
        """What is written is one of the items already, so Enter sends it."""
        return any(item.value.rstrip() == self.part for item in self.items)


NOTHING = Completion()


def at(line: str, *, first: bool, sources: Mapping[str, Source]) -> Completion:
    """The completion at the end of `line`.

    Args:
        line: up to the cursor.
        first: it is the first line, where commands stand.
        sources: for each kind of argument, such as PATH, what gives its words.
    """
    if found := _FILE.search(line):
        part = found["part"]
        items = [
            # A folder goes on; a file is complete.
            Item(f"@{path}", value=path if path.endswith("/") else f"{path} ")
            for path in _asked(sources, PATH, part)
        ]
        return Completion(found.start("part"), part, items)
    if not first:
        return NOTHING
    if found := _NAME.match(line):
        return Completion(0, line, _commands(found["name"]))
    if (found := _ARGUMENT.match(line)) and (command := BY_NAME.get(found["name"].lower())):
        part = found["part"]
        words = [word for word in command.words if word.startswith(part)]
        words += _asked(sources, command.kind, part)
        return Completion(found.start("part"), part, [Item(word, value=word) for word in words])
    return NOTHING


def _commands(part: str) -> list[Item]:
    exact = BY_NAME.get(part.lower())
    found = matching(part)
    if exact:  # also by another name of it
        found = [exact, *(command for command in found if command is not exact)]
    return [
        Item(
            command.usage,
            command.summary,
            key_name(command.key),
            # A name that is written in full stays as it is.
            value=f"/{part if command is exact else command.name}" + (" " if command.argument else ""),
        )
        for command in found
    ]


def _asked(sources: Mapping[str, Source], kind: str, part: str) -> Sequence[str]:
    return sources[kind](part) if kind in sources else ()
