"""What commands do with the kept chats, on any screen: each returns a sentence."""

from __future__ import annotations

import json
import time
from pathlib import Path

from app.chats import imports
from app.chats.export import as_markdown, as_object
from app.chats.listed import in_line
from app.chats.records import ChatInfo
from app.desk.desk import Desk
from app.desk.shelf import Shelf
from app.files.names import path_of, unquoted
from mlx_spec.errors import SpecError


def new(desk: Desk, _: str) -> str:
    """Start another chat."""
    desk.new()
    return "A new chat. /chats lists the others."


def chats(desk: Desk, _: str) -> str:
    """All chats: a line each."""
    lines = [in_line(chat) for chat in desk.shelf.reading.chats()]
    if not lines:
        raise SpecError("There are no chats yet.", "Ask something first.")
    return "\n".join([*lines, "/open and a chat's id opens it."])


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


def export_open(desk: Desk, path: str) -> str:
    """Write the open chat to a file."""
    return export(desk.shelf, desk.shelf.info(desk.shelf.open_id()), unquoted(path))


def export(shelf: Shelf, chat: ChatInfo, path: str = "") -> str:
    """Write a chat to a file: JSON if its name ends so, else Markdown.

    Args:
        shelf: where it is kept.
        chat: which.
        path: of the file; empty takes the chat's id, in the present folder.

    Raises:
        SpecError: the file is there already, or cannot be written.
    """
    target = path_of(path or f"{chat.id}.md", Path.cwd())
    messages, head = shelf.reading.messages(chat.id), shelf.reading.head(chat.id)
    if target.suffix == ".json":
        text = json.dumps(as_object(chat, messages, head), ensure_ascii=False, indent=1) + "\n"
    else:
        text = as_markdown(chat, messages, head)
    try:
        with target.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise SpecError(f"{target} is there already.", "Name another file: /export PATH.") from None
    except OSError as error:
        raise SpecError(
            f"{target} cannot be written: {error.strerror}.", "Name another file: /export PATH."
        ) from error
    return f"Wrote {target}."


def import_chat(desk: Desk, path: str) -> str:
    """Read a chat that was exported, and open it."""
    source = path_of(unquoted(path), Path.cwd())
    try:
        raw = source.read_bytes()
    except OSError as error:
        raise SpecError(f"{source} cannot be read: {error.strerror}.", "Check the path.") from error
    found = imports.read(raw, source.name, time.time())
    chat = desk.shelf.reading.take(found.chat, found.messages, found.head)
    desk.open(chat)
    return " ".join([f"Imported {named(chat)}.", *found.warnings])


def backup(desk: Desk, path: str) -> str:
    """Write all chats to a file."""
    return f"All chats are in {desk.shelf.backup(unquoted(path))}."


def named(chat: ChatInfo) -> str:
    """A chat in a sentence."""
    return f"“{chat.title}” ({chat.id})"
