"""What is changed inside Textual is in one place, and a Textual that is otherwise inside still runs."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest
from showing import showing

from app.tui.prompt.prompt import Prompt
from app.tui.terminal import inside

# On its own: elsewhere in this process an app may have been made before.
UNTOUCHED = (
    "import app.tui.terminal.terminal\n"
    "from textual._ansi_sequences import ANSI_SEQUENCES_KEYS as keys\n"
    "from app.tui.terminal.inside import NEWLINES, amend\n"
    "before = [keys.get(sent) for sent in NEWLINES]\n"
    "said = amend()\n"
    "assert not said and [keys.get(sent) for sent in NEWLINES] != before\n"
)


def test_importing_changes_nothing_and_amending_does() -> None:
    done = subprocess.run([sys.executable, "-c", UNTOUCHED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("table", [None, ()])
def test_another_inside_is_told_and_not_touched(monkeypatch: pytest.MonkeyPatch, table: object) -> None:
    other = ModuleType("other_textual")
    other.TABLE = table  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "other_textual", other)
    assert inside.amend("other_textual", "TABLE").endswith("Ctrl+J breaks the line.")
    assert inside.amend("no_such_module", "TABLE").startswith("Alt+Enter sends here")


async def test_a_person_is_told_what_does_not_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inside, "amend", lambda: "Alt+Enter sends here.")
    async with showing(Prompt()) as person:
        await person.pilot.pause()
        assert [said.message for said in person.app._notifications] == ["Alt+Enter sends here."]
