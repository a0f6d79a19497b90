"""Blocks of code in Markdown: which lines are in one."""

from __future__ import annotations

import re

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")


class Fences:
    """Reads lines in order.

    Attributes:
        open: the line that ends the block of code in which the next line is; empty outside of one.
    """

    def __init__(self) -> None:
        self.open = ""

    def read(self, line: str) -> None:
        """Take the next line, without its end."""
        if (found := _FENCE.fullmatch(line)) is None:
            return
        signs, rest = found.groups()
        if self.open:
            if signs.startswith(self.open) and not rest.strip():
                self.open = ""
        elif signs[0] == "~" or "`" not in rest:
            self.open = signs
