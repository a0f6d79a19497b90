"""What commands do at a desk with whatever a person writes after them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from screenplay import Scripted, desk_for, worker_for

from app.desk.commands import BY_NAME
from app.desk.desk import Desk
from app.desk.verbs import VERBS
from app.errors import sentence
from app.files.names import unquoted
from mlx_spec.errors import SpecError


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = desk_for(worker_for(Scripted()))
    yield desk
    desk.wind_up([])
    desk.shelf.close()


@pytest.mark.parametrize(
    "argument", ["x" * 300, "a\0b", "nowhere/x", "~nobody/x", "/dev/full", "'", "\\", "99"]
)
@pytest.mark.parametrize(
    "name", [name for name in VERBS if BY_NAME[name].kind and BY_NAME[name].kind != "REF"]
)
def test_any_argument_is_taken_or_refused_in_a_sentence(
    desk: Desk, name: str, argument: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        VERBS[name](desk, argument)
        said = "Done."
    except SpecError as error:
        said = sentence(error)
    assert said.endswith((".", "?"))
    assert not {"--help", "SPECCHAT_HOME"} & {*said.split()}, "what helps can be done in the chat"


def test_a_wrong_k_or_source_is_told_what_a_right_one_is(desk: Desk) -> None:
    for name, argument, said in (
        ("k", "99", '/k must be "auto" or a whole number from 0 to 16, not 99. Write /k auto|N.'),
        ("k", "x", "/k takes auto or a whole number, not 'x'. Write /k auto|N."),
        (
            "draft",
            "lokup",
            "/draft takes auto, none, lookup, self or model:REF, not 'lokup'. Did you mean lookup? "
            "Write /draft auto|none|lookup|self|model:REF.",
        ),
    ):
        with pytest.raises(SpecError) as refused:
            VERBS[name](desk, argument)
        assert sentence(refused.value) == said


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


def test_speculation_comes_back_with_its_k_after_another_program_had_the_machine(desk: Desk) -> None:
    desk.worker.start()
    for change in ("/k 4", "/spec off"):
        name, argument = change.removeprefix("/").split()
        VERBS[name](desk, argument)
    while desk.worker.changing:
        time.sleep(0.005)
    desk.let_go()
    desk.employ()
    VERBS["spec"](desk, "on")
    while desk.worker.changing:
        time.sleep(0.005)
    k = desk.worker.settings.k
    desk.let_go()
    assert k == 4
