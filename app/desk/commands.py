"""The commands of a chat: one table, which completion, help, palette, keys and line mode all read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from app.errors import UsageError, did_you_mean
from app.settings.settings import THEMES

Group = Literal["chat", "chats", "files", "speculation", "models", "view"]

GROUPS: dict[Group, str] = {
    "chat": "This chat",
    "chats": "Chats",
    "files": "Files",
    "speculation": "Speculation",
    "models": "Models",
    "view": "The program",
}


@dataclass(frozen=True)
class Command:
    """One row of the table.

    Attributes:
        name: what a person writes after the slash.
        summary: what it does, in a few words.
        argument: what follows the name, as help shows it; in brackets if it may be left out. Words
            with bars between them are all that there is (`on|off`); one in capitals says what kind.
        aliases: other names.
        key: that does it, as the screen's library names keys.
        group: under which it stands in help.
        screen: it needs the full screen, so that line mode does not have it.
    """

    name: str
    summary: str
    argument: str = ""
    aliases: tuple[str, ...] = ()
    key: str = ""
    group: Group = "chat"
    screen: bool = False

    @property
    def usage(self) -> str:
        """The command as it is written."""
        return f"/{self.name} {self.argument}".rstrip()

    @property
    def optional(self) -> bool:
        """It runs without an argument."""
        return self.argument[:1] in ("", "[")

    @property
    def kind(self) -> str:
        """What its argument is, without the brackets: `PATH`, `on|off`; empty if it takes none."""
        return self.argument[1:-1] if self.optional else self.argument

    @property
    def words(self) -> tuple[str, ...]:
        """The words that its argument can be, or start with; others may be allowed besides."""
        return tuple(re.findall(r"(?<![\w-])[a-z]+", self.kind))

    def check(self, argument: str) -> None:
        """Raise UsageError if `argument` is missing, too much, or none of the words that there are."""
        if argument and not self.argument:
            raise UsageError(f"/{self.name} takes nothing after it.", f"Write /{self.name} alone.")
        if not argument and not self.optional:
            raise UsageError(f"/{self.name} needs {self.kind} after it.", f"Write {self.usage}.")
        if argument and self.kind == "|".join(self.words) and argument not in self.words:
            near = did_you_mean(argument, list(self.words))
            raise UsageError(f"/{self.name} does not know {argument!r}.", near or f"Write {self.usage}.")


@dataclass(frozen=True)
class Call:
    """A command with what was written after it."""

    command: Command
    argument: str = ""


@dataclass(frozen=True)
class Key:
    """A key that does something which is no command."""

    key: str
    summary: str


COMMANDS: tuple[Command, ...] = (
    Command("regenerate", "another answer to the last question", aliases=("retry",), key="ctrl+r"),
    Command("edit", "change the last question, or number N; nothing is lost", "[N]"),
    Command("branch", "show another answer where there are several", "[next|previous]"),
    Command("undo", "take the last question and its answer back"),
    Command("redo", "bring back what undo took"),
    Command("continue", "let the last answer go on", aliases=("more",)),
    Command("stop", "end the answer that runs, and keep what it said", key="escape"),
    Command("copy", "copy the last answer, or its code block N", "[code [N]]"),
    Command("new", "start a new chat; this one is kept", aliases=("clear",), key="ctrl+n", group="chats"),
    Command("chats", "all chats: open, rename, pin, export", key="ctrl+o", group="chats"),
    Command("open", "open a chat", "CHAT", aliases=("resume",), group="chats"),
    Command("search", "find words in all chats", "TEXT", aliases=("find",), group="chats"),
    Command("rename", "give this chat a title", "TITLE", group="chats"),
    Command("pin", "keep this chat at the top of the list, or no longer", group="chats"),
    Command("delete", "delete this chat; undelete brings it back", group="chats"),
    Command("undelete", "bring the last deleted chat back", "[CHAT]", group="chats"),
    Command("export", "write this chat to a file, .md or .json", "[PATH]", aliases=("save",), group="chats"),
    Command("import", "read a chat that was exported", "PATH", group="chats"),
    Command("backup", "write all chats to one file", "PATH", group="chats"),
    Command("attach", "put a text file into the next question", "PATH", aliases=("file",), group="files"),
    Command("detach", "leave a file out again, or all", "[PATH]", group="files"),
    Command("files", "the files of this chat, with their sizes", group="files"),
    Command("spec", "speculation on or off", "[on|off]", group="speculation"),
    Command("k", "draft tokens a round: a number, or auto", "[auto|N]", group="speculation"),
    Command("draft", "which source proposes tokens", "[SOURCE]", group="speculation"),
    Command("why", "why speculation is on or off, in full", key="f8", group="speculation"),
    Command("tokens", "tokens by origin", key="f2", group="speculation"),
    Command("panel", "what was measured", key="f3", group="speculation", screen=True),
    Command("rounds", "step through rounds, token by token", key="f6", group="speculation"),
    Command("timeline", "K and speedup, as long as this chat is open", key="f7", group="speculation"),
    Command("bench", "measure this pair thoroughly, in a process of its own", group="speculation"),
    Command("model", "another target, from a list or by name", "[REF]", aliases=("models",), group="models"),
    Command("drop", "leave the oldest turns out when the context is full", key="f4", group="models"),
    Command("help", "commands and keys", aliases=("?",), key="f1", group="view"),
    Command("palette", "find a command by a part of its name", key="ctrl+p", group="view", screen=True),
    Command("thinking", "unfold the thinking, or fold it", key="f5", group="view"),
    Command("theme", "colours", f"[{'|'.join(THEMES)}]", group="view", screen=True),
    Command("quit", "leave; the chat is kept", aliases=("exit", "q"), key="ctrl+q", group="view"),
)

KEYS: tuple[Key, ...] = (
    Key("enter", "send"),
    Key("ctrl+j", "new line; also Shift+Enter, Alt+Enter, or a backslash before Enter"),
    Key("up", "in the first line: the question before"),
    Key("down", "in the last line: the question after"),
    Key("tab", "take the completion"),
    Key("ctrl+t", "unfold a folded paste at the cursor"),
    Key("ctrl+c", "copy the selection, else stop, else quit if pressed twice"),
    Key("pageup", "scroll back"),
    Key("pagedown", "scroll on"),
    Key("ctrl+end", "to the end of the chat, and follow it"),
    Key("alt+up", "step to the message before; copy then copies it"),
    Key("alt+down", "step to the message after"),
    Key("alt+right", "wide code and tables: more to the right; also Shift and the wheel"),
    Key("alt+left", "wide code and tables: back"),
)

BY_NAME = {name: command for command in COMMANDS for name in (command.name, *command.aliases)}

_CAPS = {"escape": "Esc", "pageup": "PgUp", "pagedown": "PgDn"}


def key_name(key: str) -> str:
    """A key as people write it: `ctrl+r` is Ctrl+R."""
    return "+".join(_CAPS.get(part, part.capitalize()) for part in key.split("+"))


def parse(line: str) -> Call:
    """What a line that starts with a slash calls for.

    Raises:
        UsageError: there is no such command, or its argument is wrong.
    """
    name, *rest = line.removeprefix("/").split(maxsplit=1) or [""]
    command = BY_NAME.get(name.lower())
    if command is None:
        near = did_you_mean(name.lower(), list(BY_NAME)).replace("mean ", "mean /")
        literal = "To send it as text, put another slash before it."
        raise UsageError(f"There is no command /{name}.", f"{near} {literal}".strip())
    argument = "".join(rest).strip()
    command.check(argument)
    return Call(command, argument)


def read(text: str) -> Call | str:
    """What a person sends: a command, or words for the model.

    `//` at the start stands for one slash that starts no command.

    Raises:
        UsageError: it starts with a slash and is no command; the next step says how to send it.
    """
    if text.startswith("//"):
        return text[1:]
    return parse(text) if text.startswith("/") else text


def matching(part: str, *, screen: bool = True) -> list[Command]:
    """Commands that a person may mean by `part`: names that start with it, then that hold it.

    Where no name does, those whose summary holds it.

    Args:
        part: without the slash, in any case.
        screen: commands that need the full screen are among them.
    """
    part = part.lower()
    ranks = {}
    for command in COMMANDS:
        names = (command.name, *command.aliases)
        if any(name.startswith(part) for name in names):
            ranks[command] = 0
        elif any(part in name for name in names):
            ranks[command] = 1
        elif part in command.summary.lower():
            ranks[command] = 2
    named = any(rank < 2 for rank in ranks.values())
    found = (command for command in ranks if screen or not command.screen)
    return sorted((one for one in found if ranks[one] < 2 or not named), key=ranks.__getitem__)
