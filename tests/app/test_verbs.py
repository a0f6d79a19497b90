"""What commands do at a desk with whatever a person writes after them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from screenplay import Scripted, desk_for, worker_for

from app.commands import BY_NAME
from app.desk import Desk
from app.files.names import unquoted
from app.verbs import VERBS
from mlx_spec.errors import SpecError

@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = desk_for(worker_for(Scripted()))
    yield desk
    desk.wind_up([])
    desk.shelf.close()


@pytest.mark.parametrize("argument", ["x" * 300, "a\0b", "nowhere/x", "~nobody/x", "/dev/full", "'", "\\", "99"])
@pytest.mark.parametrize("name", [name for name in VERBS if BY_NAME[name].kind and BY_NAME[name].kind != "REF"])
def test_any_argument_is_taken_or_refused_in_a_sentence(
    desk: Desk, name: str, argument: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        VERBS[name](desk, argument)
    except SpecError as error:
        assert error.message
        assert error.next_step or name == "branch"
        assert "specchat --help" not in error.next_step
        assert "SPECCHAT_HOME" not in error.next_step


def test_a_pipe_is_not_waited_for(desk: Desk, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("attach", "import"):
        with pytest.raises(SpecError):
            VERBS[name](desk, str(tmp_path / "pipe"))


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        (" a.txt ", "a.txt"),
        ('"a b.txt"', "a b.txt"),
        ("'a b.txt'", "a b.txt"),
        ("/dir/a\\ b\\(1\\).txt ", "/dir/a b(1).txt"),
        ("it's.txt", "it's.txt"),
        ("a\\b.txt", "a\\b.txt"),
    ],
)
def test_a_name_is_read_as_a_terminal_writes_a_file_that_is_dropped_into_it(typed: str, name: str) -> None:
    assert unquoted(typed) == name
