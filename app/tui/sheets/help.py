"""Help and the command palette: two views of the table of commands. Both close with the chosen command."""

from __future__ import annotations

from collections.abc import Sequence

from app.desk.commands import COMMANDS, GROUPS, KEYS, Command, Key, key_name, matching
from app.tui.sheets.menu import Item
from app.tui.sheets.sheet import Sheet


class Palette(Sheet[Command]):
    """Commands by a part of their name, other names or summary."""

    def __init__(self) -> None:
        super().__init__("Commands", "a part of a name")

    def rows(self, part: str) -> Sequence[Item]:
        """Those that go with `part`, the likeliest first."""
        return [_row(command) for command in matching(part.strip().removeprefix("/"))]


class Help(Sheet[Command]):
    """All commands by group, then the keys that are no commands."""

    def __init__(self) -> None:
        super().__init__("Help", "type to find; // sends a slash")

    def rows(self, part: str) -> Sequence[Item]:
        """The groups; or what goes with `part`, keys among them."""
        part = part.strip().removeprefix("/").lower()
        keys = [_key_row(key) for key in KEYS if part in f"{key_name(key.key)} {key.summary}".lower()]
        if part:
            return [*(_row(command) for command in matching(part)), *keys]
        rows: list[Item] = []
        for group, title in GROUPS.items():
            rows += [Item(title), *(_row(command) for command in COMMANDS if command.group == group)]
        return [*rows, Item("Keys"), *keys]

    def choose(self, item: Item) -> None:
        """A command runs; a key is only told about."""
        if isinstance(item.value, Command):
            self.dismiss(item.value)

    def about(self, item: Item | None) -> str:
        """With a command's other names."""
        if item and isinstance(item.value, Command) and item.value.aliases:
            return f"{super().about(item)} (also /{', /'.join(item.value.aliases)})".lstrip()
        return super().about(item)


def _row(command: Command) -> Item:
    return Item(command.usage, command.summary, key_name(command.key), command)


def _key_row(key: Key) -> Item:
    return Item(key_name(key.key), key.summary, value=key)
