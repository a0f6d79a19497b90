"""A store of chats in a folder of its own, and what to put into it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from kept import Clock

from app.chats.records import ChatInfo, ChatMessage
from app.chats.store import Store


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "kept" / "chats.db"


@pytest.fixture
def store(path: Path, clock: Clock) -> Iterator[Store]:
    opened = Store.open(path, clock=clock)
    yield opened
    opened.close()


@pytest.fixture
def talk(store: Store) -> Callable[..., tuple[ChatInfo, list[ChatMessage]]]:
    """Makes a chat of texts, which the person and the model say in turn."""

    def make(*texts: str, title: str = "") -> tuple[ChatInfo, list[ChatMessage]]:
        chat = store.create(title)
        said: list[ChatMessage] = []
        for number, text in enumerate(texts):
            role = "assistant" if number % 2 else "user"
            parent = said[-1].id if said else None
            said.append(store.add(chat.id, parent=parent, role=role, text=text))
        return chat, said

    return make
