"""Every behaviour of the program through its command line, with a scripted model behind it."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from scripted import ScriptedAssistant, plain

from app.assistant.assistant import Assistant
from app.cli import main

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Outcome:
    """What a run left behind."""

    code: int
    out: str
    err: str


class _Stdin(io.TextIOWrapper):
    def __init__(self, raw: bytes, terminal: bool) -> None:
        super().__init__(io.BytesIO(raw), encoding="utf-8")
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of our own, and no settings from outside."""
    for name in [name for name in os.environ if name.startswith("SPECCHAT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SPECCHAT_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def assistant(monkeypatch: pytest.MonkeyPatch) -> ScriptedAssistant:
    """The assistant that `specchat` loads; a test may replace its rounds."""
    scripted = ScriptedAssistant(plain("Hello", " there"))
    monkeypatch.setattr(Assistant, "load", scripted.load)
    return scripted


Specchat = Callable[..., Outcome]


@pytest.fixture
def specchat(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Specchat:
    """Runs `specchat` in this process. Stdin is a terminal unless `stdin` gives its bytes."""

    def run(*argv: str, stdin: bytes | None = None) -> Outcome:
        monkeypatch.setattr(sys, "stdin", _Stdin(stdin or b"", terminal=stdin is None))
        code = main(argv)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return run


@pytest.fixture
def write_config(home: Path) -> Callable[[str], Path]:
    """Writes the config file."""
    from models import locations

    def write(text: str) -> Path:
        file = locations.config_file()
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    return write


def start(*argv: str, program: Sequence[str] = ("-m", "app")) -> subprocess.Popen[str]:
    """Start `specchat` as a process of its own."""
    return subprocess.Popen(
        [sys.executable, *program, *argv],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def start_specchat() -> Callable[..., subprocess.Popen[str]]:
    return start
