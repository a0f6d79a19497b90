"""A chat of the JSON object that `export.as_object` makes.

The object may come from anywhere, so nothing in it is believed: an entry that makes no sense is an error
that names its place, and a part that claims to be copied from a file counts only if it is in that file.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import pairwise
from typing import Any, get_args

from app.chats.export import FORMAT, VERSION
from app.chats.imported import Imported
from app.chats.records import ChatInfo, ChatMessage, MessageState, Role
from app.files.provenance import Claims
from app.files.records import Attachment, Span

_LATEST = 1 << 40  # seconds since 1970, far beyond what calendars hold
_ORIGIN = re.compile(r"plain|target|prompt|draft:\S+")
_SPOKEN = ("text", "thinking")  # of an answer: its message has them anyway


def of_object(data: dict[str, Any]) -> Imported:
    """The chat of an object.

    Raises:
        ValueError: it makes no sense; with what and where.
    """
    if data.get("format") != FORMAT:
        raise ValueError(f'it does not say "format": "{FORMAT}"')
    if (version := _get(data, "version", int)) < 1:
        raise ValueError('"version" is none that there was')
    if version > VERSION:
        raise ValueError(f"a newer specchat wrote it (version {version}; this one knows {VERSION})")
    entries = _get(data, "files", list)
    files = [_place(f"file {i}", _file, entry) for i, entry in enumerate(entries)]
    claims = Claims(files)
    messages: list[ChatMessage] = []
    dropped = 0
    for number, entry in enumerate(_get(data, "messages", list), start=1):
        message = _place(f"message {number}", _message, entry, number, files)
        spans = claims.confirmed(message.text, message.spans) if message.spans else ()
        dropped += len(message.spans) - len(spans)
        messages.append(replace(message, spans=spans))
    head = _number(data, "head", len(messages) + 1)
    chat = ChatInfo(
        id="",
        title=_get(data, "title", str),
        created=_time(data, "created"),
        updated=_time(data, "updated"),
        pinned=_get(data, "pinned", bool),
        messages=len(messages),
        model=_get(data, "model", str),
        draft=_get(data, "draft", str),
    )
    warnings = [f"{dropped} parts are not copied from files as they claim, so that was left out."]
    return Imported(chat, messages, head, tuple(warnings[: bool(dropped)]))


def _place(where: str, make: Any, entry: Any, *rest: Any) -> Any:
    try:
        if not isinstance(entry, dict):
            raise ValueError("it is no object")
        return make(entry, *rest)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _file(entry: dict[str, Any]) -> Attachment:
    sha256 = _get(entry, "sha256", str)
    if not re.fullmatch("[0-9a-f]{64}", sha256):
        raise ValueError('"sha256" is no checksum')
    path, encoding, text = (_get(entry, key, str) for key in ("path", "encoding", "text"))
    return Attachment(path, sha256, _count(entry, "size"), encoding, text)


def _message(entry: dict[str, Any], number: int, files: list[Attachment]) -> ChatMessage:
    role = _one_of(entry, "role", get_args(Role))
    state = _one_of(entry, "state", get_args(MessageState))
    if _get(entry, "id", int) != number:
        raise ValueError(f'"id" is not {number}')
    if role == "user" and state != "done":
        raise ValueError('"state" of a question is always done')
    text = _get(entry, "text", str)
    pieces = tuple(
        _place("a piece", _piece, {"piece": piece}) for piece in _get(entry, "pieces", list, default=[])
    )
    if pieces and "".join(part for _, part in pieces) != text:
        raise ValueError("its pieces are not its text")
    answer = _get(entry, "answer", dict, default={})
    json.dumps(answer, allow_nan=False)  # 1e999 is read as infinite
    spans = [_place("a span", _span, span) for span in _get(entry, "spans", list, default=[])]
    if any(one.end > other.start for one, other in pairwise(spans)):
        raise ValueError("its spans are not apart and in order")
    return ChatMessage(
        id=number,
        parent=_number(entry, "parent", number),
        role=role,
        text=text,
        state=state,
        created=_time(entry, "created"),
        attachments=tuple(
            files[_index(place, len(files))] for place in _get(entry, "files", list, default=[])
        ),
        pieces=pieces,
        spans=tuple(spans),
        stats={key: value for key, value in answer.items() if key not in _SPOKEN} or None,
    )


def _piece(entry: dict[str, Any]) -> tuple[str, str]:
    match entry["piece"]:
        case [str(origin), str(text)] if _ORIGIN.fullmatch(origin):
            return origin, text
    raise ValueError("it is no origin with a text")


def _span(entry: dict[str, Any]) -> Span:
    return Span(
        start=_count(entry, "start"),
        end=_count(entry, "end"),
        sha256=_get(entry, "sha256", str),
        path=_get(entry, "path", str),
        first_line=_count(entry, "first_line"),
        last_line=_count(entry, "last_line"),
    )


def _get(entry: dict[str, Any], key: str, kind: type, default: Any = None) -> Any:
    value = entry.get(key, default)
    # JSON's true is Python's True, which passes for the number 1.
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f'"{key}" is missing or of another kind')
    return value


def _time(entry: dict[str, Any], key: str) -> float:
    value = entry.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < _LATEST:
        raise ValueError(f'"{key}" is no time')
    return float(value)


def _count(entry: dict[str, Any], key: str) -> int:
    value: int = _get(entry, key, int)
    if not 0 <= value < 1 << 53:
        raise ValueError(f'"{key}" is no count')
    return value


def _number(entry: dict[str, Any], key: str, below: int) -> int | None:
    """The number of a message before another, or None."""
    value = entry.get(key)
    return None if value is None else _index(value, below, least=1)


def _index(value: Any, below: int, least: int = 0) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < below:
        raise ValueError(f"{value!r} stands for nothing that was there before"[:80])
    return value


def _one_of(entry: dict[str, Any], key: str, words: tuple[Any, ...]) -> Any:
    value = entry.get(key)
    if value not in words:
        raise ValueError(f'"{key}" is none of {", ".join(words)}')
    return value
