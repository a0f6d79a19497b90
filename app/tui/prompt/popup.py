"""The list of completions above the prompt."""

from __future__ import annotations

from collections.abc import Callable

from app.tui.prompt.completion import NOTHING, Completion
from app.tui.sheets.menu import Menu

ROWS = 8


class Popup(Menu):
    """Lies over what is above the prompt; closed while there is nothing to complete."""

    DEFAULT_CSS = """
    Popup {
        display: none;
        overlay: screen;
        constrain: none inside;
        margin: 0 1;
        background: $surface;
    }
    """

    def __init__(self, take: Callable[[], None]) -> None:
        """`take` puts the choice into the text."""
        super().__init__()
        self._take = take
        self.completion = NOTHING

    @property
    def is_open(self) -> bool:
        """It is shown."""
        return bool(self.display)

    def offer(self, completion: Completion, room: int) -> None:
        """Show what completes; close if nothing does.

        Args:
            room: rows above the prompt.
        """
        self.completion = completion
        rows = min(len(completion.items), ROWS, room)
        self.display = rows > 0
        if self.display:
            self.styles.height = rows
            self.styles.offset = (0, -rows)
            self.show(completion.items, 0 if completion.preselected else None)

    def on_menu_chosen(self) -> None:
        """A completion was clicked."""
        self._take()

    def close(self) -> None:
        """Offer nothing."""
        self.offer(NOTHING, 0)
