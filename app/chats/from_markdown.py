"""A chat of Markdown: exactly what `export.as_markdown` wrote, or what headings tell of anybody's.

Ours is read by the comments around each text, whatever the texts hold. In other Markdown a heading of one
word such as "You" or "Assistant", or such a word in bold on a line of its own, begins what that side says.
"""

from __future__ import annotations

import re
from typing import Any, get_args

from app.chats.export import FORMAT, ROLES, VERSION
from app.chats.fences import Fences
from app.chats.imported import Imported
from app.chats.records import ChatInfo, ChatMessage, MessageState, Role

_MARK = re.compile(rf"<!-- {FORMAT} (\d+) ([0-9a-f]+) -->")
_TITLE = re.compile(r"# +(.+)")
_HEADING = re.compile(r"(?:#{1,6} +|\*\*)([A-Za-z]+) *:?(?:\*\*:?)? *")
_WIDEST = 100  # characters of a heading that names a side
_SPEAKERS: dict[str, Role] = {name.lower(): role for role, name in ROLES.items()}
_SPEAKERS |= dict.fromkeys(("user", "me", "human"), "user")
_SPEAKERS |= dict.fromkeys(("ai", "bot"), "assistant")

Said = tuple[Role, MessageState, str]


def of_markdown(text: str, now: float) -> Imported:
    """The chat of a text whose lines end in LF.

    Args:
        text: Markdown.
        now: seconds since 1970: it has no times of its own.

    Raises:
        ValueError: nobody says anything in it, or a newer specchat wrote it.
    """
    lines = text.split("\n")
    mark = next((found for line in lines[:20] if (found := _MARK.fullmatch(line.strip()))), None)
    if mark is None:
        said = _by_headings(lines)
    elif int(mark[1]) > VERSION:
        raise ValueError(f"a newer specchat wrote it (version {mark[1]}; this one knows {VERSION})")
    else:
        said = _by_comments(lines, mark[2]) or _by_headings(lines)  # the mark may be a quotation
    if not said and mark is None:
        raise ValueError('nobody says anything under a heading such as "## You"')
    title = next((found[1] for line in lines[:1] if (found := _TITLE.fullmatch(line))), "")
    messages = [
        ChatMessage(number, number - 1 or None, role, words, state, now, pieces=_pieces(role, words))
        for number, (role, state, words) in enumerate(said, start=1)
    ]
    chat = ChatInfo("", title, now, now, messages=len(messages))
    return Imported(chat, messages, len(messages) or None)


def _pieces(role: Role, text: str) -> tuple[tuple[str, str], ...]:
    return (("plain", text),) if role == "assistant" and text else ()


def _by_comments(lines: list[str], mark: str) -> list[Said]:
    """What stands between the comments with our mark, which no text has."""
    states = "|".join(get_args(MessageState))
    begins = re.compile(rf"<!-- {mark} (?:(user) (done)|(assistant) ({states})) -->")
    ends = f"<!-- {mark} end -->"
    said: list[Said] = []
    begun: tuple[Any, int] | None = None
    for number, line in enumerate(lines):
        if begun is None:
            found = begins.fullmatch(line)
            begun = (found, number + 1) if found else None
        elif line == ends:
            role, state = filter(None, begun[0].groups())
            said.append((role, state, "\n".join(lines[begun[1] : number])))
            begun = None
    if begun is not None:
        raise ValueError(f"what line {begun[1]} begins has no end")
    return said


def _by_headings(lines: list[str]) -> list[Said]:
    """What stands under headings that name a side, without the blank lines around it."""
    said: list[tuple[Role, list[str]]] = []
    fences = Fences()
    for line in lines:
        heading = None if fences.open or len(line) > _WIDEST else _HEADING.fullmatch(line)
        if heading and (role := _SPEAKERS.get(heading[1].lower())):
            said.append((role, []))
            continue
        fences.read(line)
        if said:
            said[-1][1].append(line)
    found: list[Said] = [(role, "done", "\n".join(text).strip()) for role, text in said]
    if found and not found[-1][2]:  # where the person would have gone on
        found.pop()
    return found
