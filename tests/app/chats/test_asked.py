"""A person's own questions as prompts to measure on, of which no report says anything."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kept import file
from readable import READABLE, without_ends
from tiny import tiny_loaded

import models
from app.chats.store import Store
from app.subcommands.asked import asked
from bench import measure
from bench.prompts import PromptsError
from bench.prompts.entry import LONGEST
from models.locations import chats_file


@pytest.fixture
def path() -> Path:
    return chats_file()


def test_the_first_question_of_each_of_the_latest_chats(store: Store, talk: Callable, path: Path) -> None:
    said: list[str] = []
    talk("oldest")
    deleted, _ = talk("deleted")
    talk("first", "answer", "second")
    talk("latest")
    talk("first")
    store.create("empty")
    store.delete(deleted.id)
    found = asked(path, 3, said.append)
    assert sorted(prompt.turns for prompt in found.prompts) == [(("user", "first"),), (("user", "latest"),)]
    assert said == []


def test_files_are_asked_with_their_question_and_what_is_too_long_is_counted(
    store: Store, talk: Callable, path: Path
) -> None:
    said: list[str] = []
    chat = store.create()
    store.add(chat.id, parent=None, role="user", text="Sum this up.", attachments=[file("one\n")])
    talk("x" * (LONGEST + 1))
    talk(" ")
    (prompt,) = asked(path, 10, said.append).prompts
    assert prompt.title == "File notes.txt:\n```\none\n```\n\nSum this up."
    assert said == ["1 question left out: too long to measure on."]


def test_without_questions_it_says_so(store: Store, path: Path) -> None:
    with pytest.raises(PromptsError, match="no questions in your chats"):
        asked(path, 10, print)


def test_bench_from_history_reports_no_text(
    specchat: Any, talk: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "textual", raising=False)
    monkeypatch.setattr(measure, "REST", 0.05)
    loaded = without_ends(tiny_loaded("llama", vocab=READABLE, seed=6))
    monkeypatch.setattr(models, "load", lambda ref, dtype=None, progress=None: loaded)
    monkeypatch.setattr(
        "app.assistant.template.Template.tokens",
        lambda self, messages: [3 if c == " " else ord(c) - ord("a") + 4 for c in messages[-1].content],
    )
    for number in "ab":
        talk(f"confidential question {number}", title="confidential title")
    outcome = specchat(
        *("bench", "--from-history", "5", "--ks", "1", "--tokens", "12", "--out", str(tmp_path / "run"))
    )
    assert outcome.code == 0, outcome.err
    assert "2 prompts" in outcome.out
    written = [each.read_text(encoding="utf-8") for each in (tmp_path / "run").iterdir()]
    assert len(written) == 5
    for text in (*written, outcome.out, outcome.err):
        assert "confidential" not in text
        assert "question" not in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--from-history", "0"], "--from-history must be at least 1"),
        (["--from-history", "3", "--prompts", "x"], "not allowed with"),
        (["--from-history", "3"], "no questions in your chats"),
    ],
)
def test_wrong_use_is_refused(specchat: Any, words: list[str], said: str) -> None:
    outcome = specchat("bench", *words)
    assert outcome.code == 2
    assert said in outcome.err
