"""Paths offered while one is typed after an @."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest

from app.files import completion
from app.files.completion import paths
from app.files.mentions import mentions
from app.files.names import unquoted


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in (
        "src/main.py",
        "src/Map.md",
        "my notes/a b.txt",
        ".hidden",
        "notes.txt",
        'say "hi"',
        "tab\there",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "dangling").symlink_to("nothing")
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("prefix", "offered"),
    [
        ("", ["dangling", '"my notes/', "notes.txt", "src/"]),
        ("n", ["notes.txt"]),
        ("src", ["src/"]),
        ("src/", ["src/main.py", "src/Map.md"]),
        ("src/M", ["src/Map.md", "src/main.py"]),
        ("./s", ["./src/"]),
        ("~/n", ["~/notes.txt"]),
        ("my", ['"my notes/']),
        ('"my notes/', ['"my notes/a b.txt"']),
        ('"n', ['"notes.txt"']),
        (".", [".hidden"]),
        ("notes.txt/", []),
        ("missing/", []),
        ("~nobody-here/", []),
        ("a\0b/", []),
        ("x" * 5000 + "/", []),
    ],
    ids=range(16),
)
def test_what_starts_so_is_offered(folder: Path, prefix: str, offered: list[str]) -> None:
    assert paths(prefix, folder) == offered


def test_what_is_offered_is_understood(folder: Path) -> None:
    for offered in [*paths("src/", folder), *paths('"my notes/', folder), *paths("~/n", folder)]:
        (mention,) = mentions(f"Read @{offered} now", folder)
        assert mention.path.is_file()
        assert mention.path.name == Path(unquoted(offered)).name


def test_ways_to_compose_letters_do_not_matter(tmp_path: Path) -> None:
    decomposed = unicodedata.normalize("NFD", "회의록.txt")
    (tmp_path / decomposed).write_text("x")
    assert [unicodedata.normalize("NFC", path) for path in paths("회의", tmp_path)] == ["회의록.txt"]


def test_a_huge_folder_is_looked_at_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(80):
        (tmp_path / f"f{n:02}").touch()
    assert paths("f", tmp_path) == [f"f{n:02}" for n in range(completion.SHOWN)]
    monkeypatch.setattr(completion, "_LOOKED_AT", 10)
    assert len(paths("f", tmp_path)) == 10


@pytest.mark.skipif(os.uname().sysname == "Darwin", reason="its file names are always text")
def test_a_name_that_is_no_text_is_not_offered(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")).touch()
    assert paths("caf", tmp_path) == []
