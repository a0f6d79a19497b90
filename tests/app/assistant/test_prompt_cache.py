"""Prompt caches on disk: the second run reads only what is new, and no other file is ever touched."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest
from tiny import tiny_loaded

import models
from app.assistant.assistant import Assistant
from app.assistant.prompt_cache import PromptCache
from app.assistant.template import Message
from app.errors import UsageError
from app.settings.settings import Settings
from app.subcommands.output import Words
from app.thread.events import Emitted, Finished
from app.thread.worker import Worker
from models import Loaded

BOOK = b"the cat and the dog " * 8


@pytest.fixture(autouse=True)
def shelf(monkeypatch: pytest.MonkeyPatch) -> dict[str, Loaded]:
    """The models that can be loaded, by reference."""
    loaded = {"builtin": tiny_loaded(seed=1), "other": tiny_loaded(seed=2)}

    def load(ref: str, dtype: str | None = None, progress: Callable[[str], None] | None = None) -> Loaded:
        return loaded[ref]

    monkeypatch.setattr(models, "load", load)
    return loaded


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "book.cache"


@pytest.fixture
def ask(specchat: Any, file: Path) -> Callable[..., dict[str, Any]]:
    """Asks about the book with the cache; gives the JSON object."""

    def run(question: str, *options: str, cache: Path | None = file, code: int = 0) -> dict[str, Any]:
        flags = ["--cache", str(cache)] if cache else []
        outcome = specchat("ask", "--json", "--max-tokens", "6", *flags, *options, question, stdin=BOOK)
        assert outcome.code == code, outcome
        found: dict[str, Any] = json.loads(outcome.out)
        return found

    return run


def test_the_second_run_reads_only_what_is_new(ask: Callable[..., dict[str, Any]], file: Path) -> None:
    first = ask("who?")
    again = ask("who?")
    other = ask("why not?")
    assert first["reused_tokens"] == 0
    assert again["reused_tokens"] == again["prompt_tokens"] - 1
    assert other["prefilled_tokens"] <= 30 < first["prefilled_tokens"], "the text comes before the question"
    assert first["tokens"] == again["tokens"]
    file.unlink()
    assert other["tokens"] == ask("why not?")["tokens"], "as without a cache"
    assert first["warnings"] == again["warnings"] == other["warnings"] == []


def test_only_its_owner_can_read_it_and_nothing_else_is_left(
    ask: Callable[..., dict[str, Any]], file: Path
) -> None:
    ask("who?")
    assert list(file.parent.glob("*.cache*")) == [file]
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("options", "why"),
    [(["--model", "other"], "weights "), (["--kv-bits", "8"], "kv-bits unset, not 8. ")],
)
def test_another_models_cache_is_not_used_and_that_is_said(
    options: list[str], why: str, ask: Callable[..., dict[str, Any]], shelf: dict[str, Loaded]
) -> None:
    shelf["builtin"] = tiny_loaded(seed=1, hidden_size=128, head_dim=32)
    shelf["other"] = tiny_loaded(seed=2, hidden_size=128, head_dim=32)
    ask("who?")
    found = ask("who?", *options)
    (warning,) = found["warnings"]
    assert f"is not used: it was made with {why}" in warning
    assert found["reused_tokens"] == 0
    assert ask("who?", *options)["reused_tokens"] > 0, "it was replaced"


SENSELESS = b'{"__metadata__":{"specchat":"prompt cache"},"x":1}'
DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda raw: raw[:-10],
    "longer": lambda raw: raw + b"x",
    "flipped": lambda raw: raw[:-5] + bytes([raw[-5] ^ 1]) + raw[-4:],
    "senseless": lambda raw: len(SENSELESS).to_bytes(8, "little") + SENSELESS,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_cache_is_not_used_and_that_is_said(
    damage: str, ask: Callable[..., dict[str, Any]], file: Path
) -> None:
    expected = ask("who?")["tokens"]
    file.write_bytes(DAMAGES[damage](file.read_bytes()))
    found = ask("who?")
    (warning,) = found["warnings"]
    assert "damaged" in warning
    assert (found["tokens"], found["reused_tokens"]) == (expected, 0)


def _stranger(kind: str, file: Path) -> None:
    if kind == "text":
        file.write_text("Dear diary,\n" * 9)
    elif kind == "weights":
        mx.save_safetensors(str(file), {"x": mx.zeros(3)}, {"format": "mlx"})
        file.with_name(f"{file.name}.safetensors").rename(file)
    elif kind == "list":
        file.write_bytes((2).to_bytes(8, "little") + b"[]" + b"x" * 9)
    elif kind == "nested":
        file.write_bytes((100_000).to_bytes(8, "little") + b"[" * 100_000)
    elif kind == "short":
        file.write_bytes(b"abc")
    elif kind == "folder":
        file.mkdir()
    elif kind == "pipe":
        os.mkfifo(file)


@pytest.mark.parametrize("kind", ["text", "weights", "list", "nested", "short", "folder", "pipe"])
def test_a_file_that_is_not_ours_is_never_touched(kind: str, specchat: Any, file: Path) -> None:
    _stranger(kind, file)
    before = file.read_bytes() if file.is_file() else None
    outcome = specchat("ask", "--cache", str(file), "who?")
    assert (outcome.code, outcome.out) == (2, "")
    assert f"{file} is no prompt cache of specchat" in outcome.err
    assert "Name another file with --cache." in outcome.err
    assert not file.is_file() or file.read_bytes() == before


def test_a_missing_folder_is_told_before_anything_is_loaded(specchat: Any, file: Path) -> None:
    outcome = specchat("ask", "--cache", str(file.parent / "no" / "x"), "--model", "nobody/nothing", "who?")
    assert outcome.code == 2
    assert f"There is no folder {file.parent / 'no'}" in outcome.err


@pytest.mark.parametrize("kind", ["a loop of links", "a zero byte"])
def test_a_name_that_no_file_can_have_is_a_sentence(kind: str, file: Path) -> None:
    file.symlink_to(file)
    with pytest.raises(UsageError, match="Name another file"):
        PromptCache(file if kind == "a loop of links" else Path("a\0b"))


def test_an_empty_file_is_a_place_for_a_cache(ask: Callable[..., dict[str, Any]], file: Path) -> None:
    file.touch()
    assert ask("who?")["warnings"] == []
    assert ask("who?")["reused_tokens"] > 0


def test_a_link_stays_a_link(ask: Callable[..., dict[str, Any]], file: Path) -> None:
    link = file.with_name("link")
    link.symlink_to(file)
    ask("who?", cache=link)
    assert link.is_symlink()
    assert ask("who?")["reused_tokens"] > 0


def test_a_cache_that_cannot_be_saved_is_a_warning_and_the_old_one_stays(
    ask: Callable[..., dict[str, Any]], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = ask("who?")["tokens"]
    before = file.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    sentence = f"The prompt cache {file} could not be saved: No space left on device."
    assert sentence in ask("why?")["warnings"]
    assert list(file.parent.glob(".*")) == []
    assert file.read_bytes() == before
    assert ask("who?")["tokens"] == expected


def test_what_a_killed_save_left_goes_with_the_next_one_and_what_is_being_written_stays(
    ask: Callable[..., dict[str, Any]], file: Path
) -> None:
    left, written, strange = (
        file.with_name(f".{file.name}.{end}") for end in ("a.unfinished", "b.unfinished", "c")
    )
    for other in (left, written, strange):
        other.write_bytes(b"half")
    with written.open("rb") as stream:
        fcntl.flock(stream, fcntl.LOCK_SH)
        ask("who?")
    assert [other.exists() for other in (left, written, strange)] == [False, True, True]


def test_a_run_that_read_nothing_leaves_the_file_as_it_is(
    ask: Callable[..., dict[str, Any]], file: Path
) -> None:
    ask("who?")
    before = file.read_bytes()
    assistant = Assistant.load(Settings(model="other", cache=file), lambda sentence: None)
    assert "is not used" in assistant.warnings[0]
    assert assistant.save() is None
    assert file.read_bytes() == before


def test_what_was_read_is_kept_though_the_answer_could_not_be_written(
    ask: Callable[..., dict[str, Any]], specchat: Any, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*round: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as full_disk:
        full_disk.setattr(Words, "round", fail)
        assert specchat("ask", "--cache", str(file), "who?", stdin=BOOK).code == 1
    assert ask("who?")["reused_tokens"] > len(BOOK) // 4


def test_a_chat_is_saved_when_it_closes_and_the_next_one_goes_on_from_there(file: Path) -> None:
    settings = Settings(cache=file, max_tokens=4)
    reused = []
    for _ in range(2):
        worker = Worker(Assistant.load, settings)
        worker.start()
        worker.answer([Message("user", BOOK.decode())])
        deadline = time.monotonic() + 10
        while not any(isinstance(event, Finished) for event in worker.events):
            assert time.monotonic() < deadline
            time.sleep(0.002)
        worker.close()
        told = [event.snapshot for event in worker.drain() if isinstance(event, Emitted)]
        reused.append(told[-1].reused_tokens)
    assert reused[0] == 0
    assert reused[1] > len(BOOK) // 4
