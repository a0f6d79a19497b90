"""The status line: one line that is overwritten on a terminal, plain lines elsewhere."""

from __future__ import annotations

import io

import pytest

from app.subcommands.status import Status


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_one_line_is_overwritten_and_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "10")
    screen = Screen()
    status = Status(screen)
    status.show("one \x1b[2J and more than fits")
    status.show_passing("two")
    status.clear()
    status.clear()
    assert screen.getvalue() == "\r\x1b[Kone ␛[2J \r\x1b[Ktwo\r\x1b[K"


@pytest.mark.parametrize(("stream", "term"), [(io.StringIO(), "xterm"), (Screen(), "dumb")])
def test_elsewhere_each_sentence_is_a_line(
    stream: io.StringIO, term: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", term)
    status = Status(stream)
    status.show("one")
    status.show_passing("two")
    status.clear()
    assert stream.getvalue() == "specchat: one\n"
