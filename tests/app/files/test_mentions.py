"""Files that a prompt names, and what only looks like one."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.files.mentions import mentions, misses


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in (
        "notes.txt",
        "my notes.txt",
        "Makefile",
        "노트.txt",
        "src/main.py",
        "property",
        "pkg/cli",
        "o'x",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("@notes.txt", ["notes.txt"]),
        ("Read @notes.txt, then (@src/main.py).", ["notes.txt", "src/main.py"]),
        ("What does @Makefile do?", ["Makefile"]),
        ("See @src/main.py:12 and @./notes.txt...", ["src/main.py", "notes.txt"]),
        ('Sum up @"my notes.txt", please', ["my notes.txt"]),
        ("@~/notes.txt again @notes.txt", ["notes.txt", "notes.txt"]),
        ("@노트.txt를 @notes.txt에서 요약해줘", ["노트.txt", "notes.txt"]),
        ("请看@notes.txt。", []),
        ("请看 @notes.txt。", ["notes.txt"]),
        ("“@notes.txt” and '@o'x'", ["notes.txt", "o'x"]),
        ("mail me@notes.txt or a.b@notes.txt, x/@pkg/cli", []),
        ("@missing.txt, @src, @src/, @, @@notes.txt, @", []),
        ("@notes.txt.bak and @notes.txt-old and @notes.txtx", []),
        ("`@notes.txt` and ``a ` @notes.txt``", []),
        ("```\n@notes.txt\n```\n@Makefile", ["Makefile"]),
        ("~~~py\n@property\n", []),
        ("@property\ndef x(self): ...", []),
        ("@notes.txt\nWhat is in it?", ["notes.txt"]),
        ("@~nobody-here/x @" + "x" * 5000 + " @a\0b", []),
    ],
    ids=range(19),
)
def test_existing_files_are_found(folder: Path, text: str, names: list[str]) -> None:
    found = mentions(text, folder)
    assert [mention.path.resolve() for mention in found] == [(folder / name).resolve() for name in names]
    assert all(text[mention.start] == "@" for mention in found)


def test_it_is_known_where_a_name_ends(folder: Path) -> None:
    text = 'See @notes.txt, or @"my notes.txt".'
    assert [text[m.start : m.end] for m in mentions(text, folder)] == ["@notes.txt", '@"my notes.txt"']


def test_what_looks_like_a_path_and_names_no_file_is_missed(tmp_path: Path) -> None:
    (tmp_path / "here.txt").write_text("x")
    (tmp_path / "folder").mkdir()
    text = 'See @here.txt, @gone.txt, @a/b @folder/ @"no such" @gone.txt, `@code.py`, @ann, @2.5 and a@b.org.'
    assert misses(text, tmp_path) == ("@gone.txt", "@a/b", "@folder/", '@"no such"')
