"""The clipboard: what was done, told as it was."""

from __future__ import annotations

import shutil
import subprocess


def copy_to_system(text: str) -> bool:
    """Hand `text` to macOS's clipboard; False if there is no such command or it failed."""
    command = shutil.which("pbcopy")
    if command is None:
        return False
    try:
        done = subprocess.run([command], input=text.encode(), timeout=2, check=False, capture_output=True)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
