"""The questions of kept chats as prompts to measure on: what speculation is worth for this person.

They never leave the machine, and no report has their texts: a prompt's id is a checksum.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from app.chats.store import Store
from bench.prompts import PromptsError, PromptSet, collect
from bench.prompts.entry import LONGEST


def asked(path: Path, chats: int, say: Callable[[str], None]) -> PromptSet:
    """The first questions of the latest chats that are not deleted, each question once.

    Args:
        path: of the store.
        chats: how many at most.
        say: takes a sentence about what is left out.

    Raises:
        PromptsError: there are none.
        StoreError: the store cannot be opened.
    """
    store = Store.open(path)
    try:
        openings = store.openings(chats)
    finally:
        store.close()
    if with_files := sum(has_files for _, has_files in openings):
        say(f"{with_files} of {len(openings)} chats begin with files, and are left out.")
    texts = dict.fromkeys(text for text, has_files in openings if text.strip() and not has_files)
    short = [text for text in texts if len(text) <= LONGEST]
    if len(short) < len(texts):
        say(f"{len(texts) - len(short)} questions are too long to measure on, and are left out.")
    if not short:
        raise PromptsError("There are no questions in your chats to measure on.", "Leave out --from-history.")
    entries = [
        {"id": hashlib.sha256(text.encode()).hexdigest()[:12], "class": "chats", "prompt": text}
        for text in short
    ]
    return collect("chats", entries)
