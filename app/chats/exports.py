"""Chats to files, as JSON or as Markdown: the counterpart of `imports`."""

from __future__ import annotations

from pathlib import Path

from app.answer import dump
from app.chats.errors import anew
from app.chats.export import as_markdown, as_object
from app.chats.reader import Reader
from app.chats.records import ChatInfo
from app.replacement import replaced


def text_of(store: Reader, chat: ChatInfo, *, as_json: bool) -> str:
    """The export of a chat that is kept in `store`."""
    messages, head = store.messages(chat.id), store.head(chat.id)
    return dump(as_object(chat, messages, head)) if as_json else as_markdown(chat, messages, head)


def write(store: Reader, chat: ChatInfo, target: Path, form: str | None = None) -> None:
    """Write a chat to a new file, which is there as a whole or not at all; its owner alone can read it.

    Args:
        store: where it is kept.
        chat: which.
        target: the file.
        form: json or md; None goes by the file's name.

    Raises:
        StoreError: the file is there already, or cannot be written.
    """
    text = text_of(store, chat, as_json=(form or target.suffix[1:]) == "json")
    with anew(target), replaced(target) as stream:
        stream.write(text.encode())
