"""Parts of a message as columns of the store: JSON that repeats no text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple
from typing import Any

from app.chats.records import ChatInfo, ChatMessage
from app.files.records import Attachment, Span

MESSAGE = "m.id, m.parent, m.role, m.text, m.state, m.created, m.pieces, m.spans, m.stats"
CHAT = (
    "c.id, c.title, c.created, c.updated, c.pinned, c.deleted, "
    "(SELECT count(*) FROM messages AS n WHERE n.chat = c.id), c.model, c.draft"
)

_SURROGATE = re.compile("[\ud800-\udfff]")


def storable(text: str) -> str:
    """The text with U+FFFD for each half of a character, which no file in UTF-8 can hold."""
    return _SURROGATE.sub("\ufffd", text)


def one_line(text: str, most: int = 200) -> str:
    """A title of a text: its first `most` characters, on one line."""
    return storable(" ".join(text.lstrip()[: 4 * most].split())[:most].rstrip())


def of_pieces(pieces: Iterable[tuple[str, str]]) -> str:
    """(origin, text) in order, as [origins, [number of the origin, characters, ...]].

    The texts are the message's own, and an answer has a piece for each token.
    """
    numbers: dict[str, int] = {}
    runs: list[int] = []
    for origin, text in pieces:
        runs += (numbers.setdefault(origin, len(numbers)), len(text))
    return _dump([list(numbers), runs])


def of_spans(spans: Sequence[Span]) -> str:
    """Spans as lists of their fields."""
    return _dump([astuple(span) for span in spans])


def of_stats(stats: Mapping[str, Any] | None) -> str | None:
    """Statistics as JSON; None if there are none."""
    return _dump(stats) if stats else None


def chat(row: Sequence[Any]) -> ChatInfo:
    """The chat of a row of `CHAT`."""
    ident, title, created, updated, pinned, deleted, messages, model, draft = row
    return ChatInfo(ident, title, created, updated, bool(pinned), deleted, messages, model, draft)


def message(row: Sequence[Any], attachments: Sequence[Attachment]) -> ChatMessage:
    """The message of a row of `MESSAGE`."""
    ident, parent, role, text, state, created, pieces, spans, stats = row
    return ChatMessage(
        id=ident,
        parent=parent,
        role=role,
        text=text,
        state=state,
        created=created,
        attachments=tuple(attachments),
        pieces=_pieces(text, *json.loads(pieces)),
        spans=tuple(Span(*fields) for fields in json.loads(spans)),
        stats=None if stats is None else json.loads(stats),
    )


def _pieces(text: str, origins: list[str], runs: list[int]) -> tuple[tuple[str, str], ...]:
    pieces, at = [], 0
    for number, length in zip(runs[::2], runs[1::2], strict=True):
        pieces.append((origins[number], text[at : at + length]))
        at += length
    return tuple(pieces)


def _dump(value: Any) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))
