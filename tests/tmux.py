"""A program in tmux, as a person has it: keys go in, and the screen is read as a terminal draws it."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


class Pane:
    """A shell in a terminal of a tmux server of its own.

    Args:
        columns, rows: of the terminal.
        cwd: the folder it starts in.
    """

    def __init__(self, columns: int = 100, rows: int = 30, cwd: Path = ROOT) -> None:
        self._server = f"specchat-{uuid.uuid4().hex[:12]}"
        env = {name: value for name, value in os.environ.items() if name not in ("TMUX", "TMUX_PANE")}
        env |= {"PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}", "LC_ALL": "C.UTF-8"}
        self._env = env
        size = ("-x", str(columns), "-y", str(rows))
        self._tmux("-f", os.devnull, "new-session", "-d", *size, "-c", str(cwd), "exec sh")

    def run(self, *argv: str) -> None:
        """Start `python ARGV` from the shell."""
        self.type(shlex.join((sys.executable, *argv)))
        self.press("Enter")

    def type(self, text: str) -> None:
        """Type a text."""
        self._tmux("send-keys", "-l", text)

    def press(self, *keys: str) -> None:
        """Press keys, as tmux names them: `Enter`, `Escape`, `C-p`."""
        self._tmux("send-keys", *keys)

    def ask(self, text: str) -> None:
        """Type a text, and send it once the screen shows that it was typed."""
        self.type(text)
        self.see(text[-12:], within=20)
        self.press("Enter")

    def resize(self, columns: int, rows: int) -> None:
        """Give the terminal another size."""
        self._tmux("resize-window", "-x", str(columns), "-y", str(rows))

    @property
    def screen(self) -> str:
        """What the terminal shows."""
        return self._tmux("capture-pane", "-p")

    def fact(self, name: str) -> str:
        """What tmux knows of the terminal: `alternate_on`, `cursor_flag`, `mouse_any_flag`."""
        return self._tmux("display-message", "-p", f"#{{{name}}}").strip()

    @property
    def program(self) -> int | None:
        """The process id of what the shell runs; None if it waits for a command."""
        shell = self.fact("pane_pid")
        told = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True)
        running = [pid for pid, parent in map(str.split, told.stdout.splitlines()) if parent == shell]
        return int(running[0]) if running else None

    def see(self, *texts: str, within: float = 60.0) -> None:
        """Wait until all of the texts are on the screen."""
        self.until(lambda screen: all(text in screen for text in texts), within)

    def until(self, condition: Callable[[str], bool], within: float = 60.0) -> None:
        """Wait until a condition holds of the screen."""
        deadline = time.monotonic() + within
        while not condition(self.screen):
            assert time.monotonic() < deadline, self.screen
            time.sleep(0.1)

    def close(self) -> None:
        """End the shell, and what runs in it."""
        socket = Path(self.fact("socket_path"))
        self._tmux("kill-server")
        socket.unlink(missing_ok=True)

    def _tmux(self, *arguments: str) -> str:
        command: Sequence[str] = ("tmux", "-u", "-L", self._server, *arguments)
        return subprocess.run(command, env=self._env, capture_output=True, text=True, check=True).stdout


@contextmanager
def pane(columns: int = 100, rows: int = 30, cwd: Path = ROOT) -> Iterator[Pane]:
    """A terminal until the end of the scenario."""
    made = Pane(columns, rows, cwd)
    try:
        yield made
    finally:
        made.close()
