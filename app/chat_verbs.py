"""What commands do with the kept chats, on any screen: each returns a sentence."""

from __future__ import annotations

from app.chats.records import ChatInfo
from app.desk import Desk
from app.files.names import unquoted


def new(desk: Desk, _: str) -> str:
    """Start another chat."""
    desk.new()
    return ""


def open_chat(desk: Desk, chat_id: str) -> str:
    """Go to a kept chat."""
    chat = desk.shelf.info(chat_id)
    desk.open(chat)
    return f"Opened {named(chat)}."


def search(desk: Desk, text: str) -> str:
    """Where a text stands: a line a hit."""
    hits = desk.shelf.search(text)
    if not hits:
        return f"“{text}” is in no chat."
    return "\n".join(f"{hit.chat.id}  {hit.chat.title}: {hit.snippet}" for hit in hits)


def rename(desk: Desk, title: str) -> str:
    """Give the open chat a title."""
    desk.shelf.rename(title)
    return f"This chat is called “{title}” now."


def pin(desk: Desk, _: str) -> str:
    """Keep the open chat on top, or no longer."""
    return "This chat stays on top of the list." if desk.shelf.pin() else "This chat is pinned no longer."


def delete(desk: Desk, _: str) -> str:
    """Delete the open chat."""
    return f"Deleted “{desk.delete()}”. /undelete brings it back."


def undelete(desk: Desk, chat_id: str) -> str:
    """Bring a deleted chat back, and open it unless another is open."""
    chat = desk.shelf.undelete(chat_id)
    if desk.shelf.chat is None and not desk.busy:
        desk.open(chat)
    return f"{named(chat)} is back."


def backup(desk: Desk, path: str) -> str:
    """Write all chats to a file."""
    return f"All chats are in {desk.shelf.backup(unquoted(path))}."


def named(chat: ChatInfo) -> str:
    """A chat in a sentence."""
    return f"“{chat.title}” ({chat.id})"
