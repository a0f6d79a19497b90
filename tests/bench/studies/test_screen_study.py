"""The study of the screen: a program is driven as a person would, and its numbers become a table."""

from __future__ import annotations

import os
import sys
from contextlib import closing

import pytest

from bench.studies.screen import Found, Starts, summary, table
from bench.studies.terminal import Terminal

ECHO = "import sys\nprint('ready', flush=True)\nprint('got', input(), flush=True)\n"


def test_a_program_gets_keys_and_what_it_writes_is_read() -> None:
    with closing(Terminal([sys.executable, "-c", ECHO], env=os.environ)) as terminal:
        terminal.wait_for("ready")
        assert terminal.memory > 1e6
        terminal.type("words\n")
        assert terminal.wait_for("got words") > terminal.started
        with pytest.raises(EOFError, match="the program ended, and said"):
            terminal.wait_for("more")
    assert terminal.spent > 0


def test_what_was_measured_is_a_table() -> None:
    found = Found(keys=[0.010, 0.020], first_frame=Starts([0.3], [0.2]), memory={100: 50_000_000})
    found.screen["prose"], found.bare["prose"] = [0.02, 0.02], [0.019, 0.019]
    lines = list(table(summary(found)))
    assert lines[0] == "prose                   0.950 of the bare speed (0.950 to 0.950), 0.950 of the best"
    assert "key to screen           median 15 ms, P95 20 ms of 2" in lines
    assert lines[-1] == "100 messages            50 MB"
