"""The questions of kept chats as prompts to measure on: what speculation is worth for this person.

They never leave the machine, and no report has their texts: a prompt's id is a checksum.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from app.chats.store import Store
from app.files.prompt import prompt_of
from bench.prompts import PromptsError, PromptSet, collect
from bench.prompts.entry import LONGEST
from bench.words import plural


def asked(path: Path, chats: int, say: Callable[[str], None]) -> PromptSet:
    """The first questions of the latest chats that are not deleted, with their files, each once.

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
    texts = dict.fromkeys(prompt_of(question.text, question.attachments) for question in openings)
    short = [text for text in texts if text.strip() and len(text) <= LONGEST]
    if long := sum(len(text) > LONGEST for text in texts):
        say(f"{plural(long, 'question')} left out: too long to measure on.")
    if not short:
        raise PromptsError("There are no questions in your chats to measure on.", "Leave out --from-history.")
    entries = [
        {"id": hashlib.sha256(text.encode()).hexdigest()[:12], "class": "chats", "prompt": text}
        for text in short
    ]
    return collect("chats", entries)
