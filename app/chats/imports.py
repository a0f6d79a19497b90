"""Chats from files: what `export` wrote, or any Markdown whose headings say who speaks."""

from __future__ import annotations

import json
from typing import Any

from app.chats.from_markdown import of_markdown
from app.chats.from_object import of_object
from app.chats.imported import Imported, ImportFailed

LARGEST = 256 << 20  # bytes of a file


def read(raw: bytes, name: str, now: float) -> Imported:
    """The chat that a file holds.

    Args:
        raw: the file.
        name: what sentences call it.
        now: seconds since 1970, for what has no time.

    Raises:
        ImportFailed: it holds none, or a damaged one; the sentence says where.
    """
    if len(raw) > LARGEST:
        raise ImportFailed(f"{name} is larger than {LARGEST >> 20} MB.", "Import a smaller export.")
    try:
        text = raw.decode("utf-8-sig")
        if text.lstrip().startswith("{"):
            return of_object(json.loads(text, parse_constant=_no_number))
        return of_markdown(text.replace("\r\n", "\n"), now)
    except UnicodeDecodeError:
        raise ImportFailed(f"{name} is not UTF-8.", "Import a file that specchat exported.") from None
    except (ValueError, RecursionError) as error:
        raise ImportFailed(
            f"{name} is no chat that can be imported: {error}.",
            "Export one with specchat chats export ID --format json.",
        ) from None


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number")
