"""A chat that came from a file, before the store takes it."""

from __future__ import annotations

from dataclasses import dataclass

from app.chats.errors import StoreError
from app.chats.records import ChatInfo, ChatMessage


class ImportFailed(StoreError):
    """A file is no chat that can be taken up."""


@dataclass(frozen=True)
class Imported:
    """A chat of a file.

    Attributes:
        chat: with the title, times and names; its id says nothing.
        messages: parents before children, with numbers from 1 as ids.
        head: the number of one of them, or None.
        warnings: sentences about what could not be taken over.
    """

    chat: ChatInfo
    messages: list[ChatMessage]
    head: int | None
    warnings: tuple[str, ...] = ()
