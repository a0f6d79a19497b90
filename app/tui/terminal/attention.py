"""Calling a person back who looks elsewhere while a long answer ends."""

from __future__ import annotations

from collections.abc import Mapping

from app.display import neutralise

LONG = 20.0  # seconds that an answer takes before anyone looks elsewhere

# Terminals that show OSC 9 as a notification; others may show nothing, or garbage.
_SHOW_OSC_9 = {"iTerm.app", "WezTerm", "ghostty"}


def signal(seconds: float, *, focused: bool, words: str, environ: Mapping[str, str]) -> str:
    """What to write to the terminal when an answer ends: a notification, a bell, or nothing.

    Args:
        seconds: that the answer took.
        focused: the terminal has the keyboard; one that cannot tell counts as focused.
        words: what a notification says, one line.
        environ: the environment, which names the terminal.
    """
    if focused or seconds <= LONG:
        return ""
    # Inside tmux the sequence would not arrive, but a bell does.
    knows = environ.get("TERM_PROGRAM") in _SHOW_OSC_9 or environ.get("TERM") == "xterm-kitty"
    return f"\x1b]9;{neutralise(words)}\x07" if knows and "TMUX" not in environ else "\x07"
