"""A chat as one JSON object, with everything; and as Markdown, the branch that the person sees.

docs/chats.md describes both. `imports` reads them back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from app.chats.fences import Fences
from app.chats.records import Attachment, ChatInfo, ChatMessage, Role
from app.display import neutralise
from app.thinking import Thinking, spoken
from mlx_spec.events import Round

FORMAT = "specchat chat"
VERSION = 1
ROLES: dict[Role, str] = {"user": "You", "assistant": "Assistant"}


def as_object(chat: ChatInfo, messages: Sequence[ChatMessage], head: int | None) -> dict[str, Any]:
    """The whole chat, JSON-ready; messages have numbers from 1, and each file's text is there once.

    Args:
        chat: whose it is.
        messages: all of them, parents before children.
        head: id of the message where the person is.
    """
    numbers: dict[int | None, int | None] = {None: None}
    files: dict[Attachment, int] = {}
    said = []
    for message in messages:
        numbers[message.id] = len(numbers)
        said.append(_of_message(message, numbers, files))
    return {
        "format": FORMAT,
        "version": VERSION,
        "title": chat.title,
        "created": chat.created,
        "updated": chat.updated,
        "pinned": chat.pinned,
        "model": chat.model,
        "draft": chat.draft,
        "head": numbers[head],
        "files": [asdict(file) for file in files],
        "messages": said,
    }


def _of_message(
    message: ChatMessage, numbers: dict[int | None, int | None], files: dict[Attachment, int]
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "id": numbers[message.id],
        "parent": numbers[message.parent],
        "role": message.role,
        "state": message.state,
        "created": message.created,
        "text": message.text,
    }
    if message.attachments:
        found["files"] = [files.setdefault(file, len(files)) for file in message.attachments]
    if message.role == "assistant":
        found["answer"] = _split(message) | (message.stats or {})
        found["pieces"] = [list(piece) for piece in message.pieces]
        found["spans"] = [asdict(span) for span in message.spans]
    return found


def _split(message: ChatMessage) -> dict[str, Any]:
    """The answer without its thinking, and the thinking."""
    split = Thinking().take(Round(pieces=[("", message.text)], finish_reason="stop"))
    return spoken(split.text, split.thought_text)


def as_markdown(chat: ChatInfo, messages: Sequence[ChatMessage], head: int | None) -> str:
    """The branch that ends at `head`, or at the latest message if the person is at the start.

    Control characters are made visible. A comment before and after each text carries a mark that none of
    the texts has, so that whatever a text holds, it can be told where it ends.
    """
    path = branch(messages, head)
    mark = _mark([message.text for message in path])
    lines = [f"# {neutralise(chat.title) or 'Untitled'}", "", f"<!-- {FORMAT} {VERSION} {mark} -->"]
    for message in path:
        text = neutralise(message.text)
        lines += ["", f"## {ROLES[message.role]}", ""]
        lines += [f"<!-- {mark} {message.role} {message.state} -->", text, f"<!-- {mark} end -->"]
        if fence := _open_fence(text):
            lines.append(fence)
        lines += _notes(message)
    return "\n".join(lines) + "\n"


def branch(messages: Sequence[ChatMessage], head: int | None) -> list[ChatMessage]:
    """From a first message to `head`, or to the latest message if the person is at the start."""
    by_id = {message.id: message for message in messages}
    at = head if head is not None or not messages else messages[-1].id
    path = []
    while at is not None:
        path.append(by_id[at])
        at = by_id[at].parent
    return path[::-1]


def _mark(texts: Sequence[str]) -> str:
    """A word that no text has; the same for the same texts."""
    joined = "\n".join(texts)
    mark = joined
    while mark in joined:
        mark = hashlib.sha256(mark.encode()).hexdigest()[:12]
    return mark


def _open_fence(text: str) -> str:
    """The line that ends a block of code which the text leaves open; empty if there is none."""
    fences = Fences()
    for line in text.split("\n"):
        fences.read(line)
    return fences.open


def _notes(message: ChatMessage) -> list[str]:
    """What belongs to a message besides its text, a line for each."""
    notes = [
        f"- Attached: {_code(file.path)}, {file.size:,} bytes, SHA-256 {_code(file.sha256)}"
        for file in message.attachments
    ]
    notes += [
        f"- Copied from {_code(span.path)}, lines {span.first_line} to {span.last_line}"
        for span in message.spans
    ]
    return ["", *notes] if notes else []


def _code(text: str) -> str:
    return f"`{neutralise(' '.join(text.split())).replace('`', chr(0x2BB))}`"
