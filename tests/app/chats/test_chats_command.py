"""`specchat chats`: kept chats from the command line."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.chats.migrations import MIGRATIONS
from app.chats.store import Store
from models.locations import chats_file


@pytest.fixture
def path() -> Path:
    return chats_file()


@pytest.fixture
def rivers(talk: Callable) -> str:
    chat, _ = talk("Name three rivers.", "Rhine, Elbe \x1b[2J and 한강.", title="Rivers")
    return chat.id


def test_without_chats_it_says_so(specchat: Any) -> None:
    assert specchat("chats") == specchat("chats", "list")
    outcome = specchat("chats")
    assert (outcome.code, outcome.out) == (0, "")
    assert "no chats yet" in outcome.err


def test_list_shows_the_latest_first_and_deleted_ones_apart(
    specchat: Any, talk: Callable, store: Store
) -> None:
    old, new = talk("a", title="Old")[0], talk("b", "c", title="New")[0]
    store.pin(old.id)
    lines = specchat("chats").out.splitlines()
    assert [line.split()[0] for line in lines] == [old.id, new.id]
    assert lines[0].endswith("Old  (pinned)")
    assert lines[1].split()[3] == "2"
    deleted = specchat("chats", "delete", new.id)
    assert f"specchat chats restore {new.id}" in deleted.err
    assert specchat("chats").out.splitlines() == lines[:1]
    assert [line.split()[0] for line in specchat("chats", "list", "--deleted").out.splitlines()] == [new.id]
    specchat("chats", "restore", new.id)
    assert len(specchat("chats").out.splitlines()) == 2
    (pinned, other) = json.loads(specchat("chats", "--json").out)["chats"]
    assert (pinned["title"], pinned["pinned"], other["title"], other["messages"]) == ("Old", True, "New", 2)


def test_a_title_is_shown_and_not_obeyed(specchat: Any, talk: Callable) -> None:
    """Case c24, in a list; as JSON it is escaped, and whole."""
    title = "\x1b[2J\x1b]52;c;aGk=\x07\x9b5m [bold]x[/bold]"
    talk("a", title=title)
    out = specchat("chats").out
    assert out.endswith("  ␛[2J␛]52;c;aGk=␇\\x9b5m [bold]x[/bold]\n")
    listed = specchat("chats", "--json").out
    assert not {"\x1b", "\x9b"} & set(listed)
    assert json.loads(listed)["chats"][0]["title"] == title


def test_delete_forever(specchat: Any, rivers: str) -> None:
    assert "for good" in specchat("chats", "delete", rivers, "--forever").err
    assert specchat("chats", "list", "--deleted").out == ""


def test_several_chats_are_deleted_together_or_not_at_all(specchat: Any, rivers: str, talk: Callable) -> None:
    other = talk("x")[0].id
    assert specchat("chats", "delete", rivers, "nowhere").code == 2
    assert len(specchat("chats").out.splitlines()) == 2
    specchat("chats", "delete", rivers, other)
    assert specchat("chats").out == ""
    assert specchat("chats", "delete", rivers, rivers[:4], "--forever").code == 0  # named twice


def test_search_shows_where(specchat: Any, rivers: str) -> None:
    assert specchat("chats", "search", "강").out == f"{rivers}  Rivers:  Rhine, Elbe ␛[2J and 한강.\n"
    title, message = json.loads(specchat("chats", "search", "RIVERS", "--json").out)["hits"]
    assert title["message_id"] is None
    assert message["snippet"][message["start"] : message["end"]] == "rivers"
    assert len(specchat("chats", "search", "rivers", "--limit", "1").out.splitlines()) == 1
    assert len(specchat("chats", "search", "rivers", "--limit", "9" * 20).out.splitlines()) == 2
    nothing = specchat("chats", "search", "lake")
    assert (nothing.code, nothing.out) == (0, "")
    assert "'lake' stands in no chat" in nothing.err


def test_show_is_for_people_and_harmless(specchat: Any, rivers: str) -> None:
    assert specchat("chats", "show", rivers[:4]).out == (
        "Rivers\n\nYou:\nName three rivers.\n\nAssistant:\nRhine, Elbe ␛[2J and 한강.\n"
    )


def test_show_json_is_the_export(specchat: Any, rivers: str) -> None:
    shown = specchat("chats", "show", rivers, "--json").out
    assert shown == specchat("chats", "export", rivers, "--format", "json").out
    assert json.loads(shown)["messages"][1]["text"] == "Rhine, Elbe \x1b[2J and 한강."


def test_rename_and_pin(specchat: Any, rivers: str) -> None:
    specchat("chats", "rename", rivers, "Long\nrivers")
    specchat("chats", "pin", rivers)
    assert specchat("chats").out.endswith("Long rivers  (pinned)\n")
    specchat("chats", "unpin", rivers)
    assert specchat("chats").out.endswith("Long rivers\n")


@pytest.mark.parametrize("name", ["chat.md", "chat.json"])
def test_an_export_comes_back(specchat: Any, rivers: str, tmp_path: Path, name: str) -> None:
    target = tmp_path / name
    assert specchat("chats", "export", rivers, "--out", str(target)).code == 0
    assert target.stat().st_mode & 0o777 == 0o600
    there = specchat("chats", "export", rivers, "--out", str(target))
    assert (there.code, "there already" in there.err) == (1, True)
    imported = specchat("chats", "import", str(target))
    copy = imported.out.split()[0]
    assert copy != rivers
    assert specchat("chats", "show", copy).out == specchat("chats", "show", rivers).out
    piped = specchat("chats", "import", "-", "--json", stdin=target.read_bytes())
    (chat,) = json.loads(piped.out)["chats"]
    assert chat["title"] == "Rivers"


def test_several_files_are_imported_together_or_not_at_all(
    specchat: Any, rivers: str, tmp_path: Path
) -> None:
    target = tmp_path / "chat.json"
    specchat("chats", "export", rivers, "--out", str(target))
    (tmp_path / "x").write_text("milk, eggs")
    assert specchat("chats", "import", str(target), str(tmp_path / "x")).code == 1
    assert len(specchat("chats").out.splitlines()) == 1
    both = json.loads(specchat("chats", "import", str(target), str(target), "--json").out)
    assert [chat["title"] for chat in both["chats"]] == ["Rivers", "Rivers"]


@pytest.mark.parametrize("words", [["backup"], ["export", "ID", "--out"]])
@pytest.mark.parametrize(
    ("name", "said"), [("nowhere/x", "No such file or directory"), ("x" * 300, "File name too long")]
)
def test_a_file_that_cannot_be_written_is_named_as_it_was_typed(
    specchat: Any, rivers: str, tmp_path: Path, words: list[str], name: str, said: str
) -> None:
    target = tmp_path / name
    outcome = specchat("chats", *[rivers if word == "ID" else word for word in words], str(target))
    assert outcome.code == 1
    assert outcome.err == f"specchat: error: {target} cannot be written: {said}. Name another file.\n"


@pytest.mark.parametrize("words", [("backup", ""), ("export", "ID", "--out", "")])
def test_a_folder_is_no_name_of_a_new_file(specchat: Any, rivers: str, words: tuple[str, ...]) -> None:
    outcome = specchat("chats", *(rivers if word == "ID" else word for word in words))
    assert (outcome.code, outcome.err) == (1, "specchat: error: . is a folder. Name a new file.\n")


def test_a_backup_can_take_the_place_of_the_store(specchat: Any, rivers: str, store: Store) -> None:
    shown = specchat("chats", "show", rivers).out
    target = chats_file().parents[1] / "backup.db"
    assert str(target) in specchat("chats", "backup", str(target)).err
    assert specchat("chats", "backup", str(target)).code == 1
    store.close()
    folder = chats_file().parent
    folder.rename(folder.with_name("old"))
    folder.mkdir()
    target.rename(chats_file())
    assert specchat("chats", "show", rivers).out == shown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["lits"], "Did you mean list?"),
        (["burn"], "Write list, search"),
        (["show"], "chats show takes ID. Write specchat chats show ID."),
        (["show", "a", "b"], "chats show takes ID."),
        (["list", "x"], "chats list takes nothing more."),
        (["import"], "chats import takes FILE..."),
        (["show", "zzz"], "There is no chat 'zzz'"),
        (["list", "--out", "x"], "chats list makes no use of --out."),
        (["search", "x", "--limit", "0"], "--limit must be at least 1"),
        (["export", "x", "--format", "pdf"], "invalid choice"),
        (["export", "x", "--fromat", "md"], "Did you mean --format?"),
    ],
)
def test_wrong_use_is_refused_with_the_next_step(specchat: Any, words: list[str], said: str) -> None:
    outcome = specchat("chats", *words)
    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err


def test_files_that_cannot_be_imported_are_named(specchat: Any, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("milk, eggs")
    for name, said in (("x", "x is no chat that can be imported"), ("y", "No such file"), ("", "directory")):
        outcome = specchat("chats", "import", str(tmp_path / name))
        assert outcome.code == 1
        assert said in outcome.err
    assert specchat("chats").out == ""


def test_a_store_that_cannot_be_opened_is_one_sentence(specchat: Any) -> None:
    chats_file().parent.mkdir(parents=True)
    chats_file().write_text("milk, eggs")
    outcome = specchat("chats")
    assert outcome.code == 1
    assert (
        outcome.err
        == f"specchat: error: {chats_file()} is no chat store. Move that file away and start again.\n"
    )


def test_the_schema_in_the_documentation_is_the_schemas() -> None:
    """Every table and column is described."""
    documented = (Path(__file__).parents[3] / "docs/chats.md").read_text(encoding="utf-8")
    made = sqlite3.connect(":memory:")
    for step in MIGRATIONS:
        for statement in step:
            made.execute(statement)
    tables = [name for (name,) in made.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    for table in set(tables) - {"sqlite_sequence"}:
        section = documented.partition(f"**`{table}`**")[2].partition("\n\n")[0]
        assert section, table
        for _, column, *_ in made.execute(f"PRAGMA table_info({table})"):
            assert f"`{column}`" in section, f"{table}.{column}"
