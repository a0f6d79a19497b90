"""What is changed inside Textual, all of it: it takes some keys for others, and has no setting for that.

The names are Textual's own and may go with any version, so none of them is imported by name: what is not
there any more is told, and the rest of the program does without.
"""

from __future__ import annotations

import importlib

from textual.keys import Keys

# Alt+Enter, and Shift+Enter as many set their terminal up: Textual takes these for a plain Enter.
NEWLINES = ("\x1b\r", "\x1b\n")


def amend(module: str = "textual._ansi_sequences", table: str = "ANSI_SEQUENCES_KEYS") -> str:
    """Make the keys that break a line do so; harmless if done before.

    Args:
        module: that has the table.
        table: its name: a dictionary from what a terminal sends to keys.

    Returns:
        A sentence about what does not work, empty if all does.
    """
    try:
        found = getattr(importlib.import_module(module), table, None)
    except ImportError:
        found = None
    if not isinstance(found, dict):
        return "Alt+Enter sends here, for this version of Textual is another one. Ctrl+J breaks the line."
    found.update(dict.fromkeys(NEWLINES, (Keys.ControlJ,)))
    return ""
