"""The program over a scripted assistant in tmux, by the keyboard alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from tmux import needs_tmux, pane

pytestmark = [pytest.mark.slow, needs_tmux]


def test_a_session_from_the_first_key_to_a_terminal_as_it_was(tmp_path: Path) -> None:
    with pane(80, 24) as person:
        person.run("-m", "tests.performance", "screen", str(tmp_path / "report"), "--rate", "150")
        person.see("○ ready", "Ask something")

        person.press("C-p")  # the palette
        person.type("timel")
        person.until(lambda screen: "/timeline" in screen and "/regenerate" not in screen)
        person.press("Enter")
        person.until(lambda screen: "timeline" in screen.lower() and "Ask something" not in screen)
        person.press("Escape")
        person.see("Ask something")

        person.type("/re")  # completion
        person.see("/regenerate", "/redo", "/rename")
        person.type("n")
        person.until(lambda screen: "/redo" not in screen)
        person.press("Tab")
        person.see("│ /rename ")
        person.press("C-u")
        person.see("Ask something")

        person.ask("fence")
        person.see("line_30 ")
        person.resize(20, 8)
        person.until(lambda screen: "line_" in screen and all(len(row) <= 20 for row in screen.splitlines()))
        assert len(person.screen.splitlines()) == 8
        person.resize(80, 24)
        person.see("line_399 = 399", "○ ready", "Ctrl+Q quit")

        person.press("C-q")
        person.until(lambda _: person.program is None)
        person.type("stty -a; echo $((40 + 2))")
        person.press("Enter")
        person.see("\n42\n", " icanon", " echo ")
        told = [person.fact(name) for name in ("alternate_on", "mouse_any_flag", "cursor_flag")]
        assert told == ["0", "0", "1"]
