"""What is changed inside Textual, all of it: how it reads some keys, for which it has no setting.

The names are Textual's own and may go with any version, so none of them is imported by name: what is not
there any more is told, and the rest of the program does without.
"""

from __future__ import annotations

import codecs
import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

from textual.keys import Keys

# Alt+Enter, and Shift+Enter as many set their terminal up: Textual takes these for a plain Enter.
NEWLINES = ("\x1b\r", "\x1b\n")


def amend(
    module: str = "textual._ansi_sequences",
    table: str = "ANSI_SEQUENCES_KEYS",
    driver: str = "textual.drivers.linux_driver",
) -> str:
    """Make the keys that break a line do so, and bytes that are no text do no harm; harmless if done before.

    Args:
        module: that has the table.
        table: its name: a dictionary from what a terminal sends to keys.
        driver: the module that reads a terminal.

    Returns:
        A sentence about what does not work, empty if all does.
    """
    # A key or a paste that is no UTF-8 would end the thread that reads them, and with it the program.
    if hasattr(reader := _module(driver), "getincrementaldecoder"):
        reader.getincrementaldecoder = _patient_decoder
    found = getattr(_module(module), table, None)
    if not isinstance(found, dict):
        return "Alt+Enter sends here, for this version of Textual is another one. Ctrl+J breaks the line."
    found.update(dict.fromkeys(NEWLINES, (Keys.ControlJ,)))
    return ""


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _patient_decoder(encoding: str) -> Callable[[], codecs.IncrementalDecoder]:
    return partial(codecs.getincrementaldecoder(encoding), "replace")
