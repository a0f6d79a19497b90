"""A kept chat where only a line is for it: in lists and in sentences."""

from __future__ import annotations

import time

from app.chats.records import ChatInfo
from app.display import neutralise


def in_line(chat: ChatInfo) -> str:
    """A chat on one line: its id, when something happened in it, how many messages it has, its title."""
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(chat.deleted or chat.updated))
    pinned = "  (pinned)" if chat.pinned else ""
    return f"{chat.id}  {when}  {chat.messages:>5}  {title(chat)}{pinned}"


def title(chat: ChatInfo) -> str:
    """The title as a terminal may show it."""
    return neutralise(chat.title) or "Untitled"
