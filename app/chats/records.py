"""What a kept chat consists of. Plain records: no database, no screen, no model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from app.files.records import Attachment, Span

Role = Literal["user", "assistant"]
MessageState = Literal["streaming", "done", "stopped", "cut", "interrupted", "failed"]
"""Of an answer: under way; complete; stopped by the person; cut at a length; its process died; an error."""


@dataclass(frozen=True)
class ChatInfo:
    """A chat in a list.

    Attributes:
        id: short, typed by people.
        title: one line.
        created, updated: seconds since 1970, by the wall clock; order never depends on them alone.
        pinned: shown first.
        deleted: when it was, or None.
        messages: how many it has, all branches counted.
        model, draft: that answered last, as options name them.
    """

    id: str
    title: str
    created: float
    updated: float
    pinned: bool = False
    deleted: float | None = None
    messages: int = 0
    model: str = ""
    draft: str = ""


@dataclass(frozen=True)
class ChatMessage:
    """One message of a chat; messages form a tree, since an edit or a new answer destroys nothing.

    Attributes:
        id: over all chats.
        parent: id of the message before it, or None for a first one.
        role: whose it is.
        text: a question without its files, or an answer with its thinking and the model's own markers.
        state: of an answer; done for questions.
        created: seconds since 1970.
        attachments: of a question.
        pieces: of an answer: (origin, text) in order; their texts joined are `text`.
        spans: of an answer, in order, not overlapping.
        stats: of an answer: speed, acceptance, verdict; JSON-ready.
    """

    id: int
    parent: int | None
    role: Role
    text: str
    state: MessageState = "done"
    created: float = 0.0
    attachments: tuple[Attachment, ...] = ()
    pieces: tuple[tuple[str, str], ...] = ()
    spans: tuple[Span, ...] = ()
    stats: dict[str, Any] | None = None
