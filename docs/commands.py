"""Writes the tables of commands and keys in docs/chat.md from the one table that the program reads too.

Run it with `make commands`; a test fails while the page says something else.
"""

from __future__ import annotations

import re
from pathlib import Path

from app.desk.commands import COMMANDS, GROUPS, KEYS, key_name

PAGE = Path(__file__).parent / "chat.md"
BETWEEN = re.compile(r"(?<=<!-- from app/desk/commands.py -->\n).*(?=<!-- end -->)", re.DOTALL)


def tables() -> str:
    """All commands by group, then the keys that are no commands, as Markdown."""
    parts = []
    for group, title in GROUPS.items():
        rows = [
            (f"`{each.usage}`", each.summary, key_name(each.key), _names(each.aliases))
            for each in COMMANDS
            if each.group == group
        ]
        parts.append(f"### {title}\n\n{_table(('command', 'what it does', 'key', 'also'), rows)}")
    keys = [(key_name(each.key), each.summary) for each in KEYS]
    return "\n".join([*parts, f"### Keys\n\n{_table(('key', 'what it does'), keys)}"])


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(f"`/{name}`" for name in names)


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def renewed(page: str) -> str:
    """The page with today's tables."""
    return BETWEEN.sub(lambda _: f"\n{tables()}\n", page)


def main() -> None:
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
