"""What lies above the prompt: questions that wait, files that go along, the question being edited."""

from __future__ import annotations

from rich.text import Text
from textual.app import RenderResult
from textual.reactive import reactive
from textual.widget import Widget

from app.display import neutralise
from app.tui.terminal import palette

MOST = 4  # lines


class Slip(Widget):
    """A line for each thing, the latest of them if there are many; not there if there is none."""

    DEFAULT_CSS = f"""
    Slip {{
        display: none;
        height: auto;
        max-height: {MOST};
        padding: 0 2;
        color: $text-muted;
    }}
    Screen.-tiny Slip {{ max-height: 1; }}
    """

    items: reactive[tuple[str, ...]] = reactive((), layout=True)

    def watch_items(self) -> None:
        """Take no room for nothing."""
        self.display = bool(self.items)

    def render(self) -> RenderResult:
        """One line each, cut at the width."""
        shown = self.items[-MOST:]
        if (left := len(self.items) - len(shown)) > 0:
            shown = (f"and {left + 1} more", *shown[1:])
        lines = [Text(neutralise(item), palette.MUTED, no_wrap=True, overflow="ellipsis") for item in shown]
        return Text("\n", no_wrap=True, overflow="ellipsis").join(lines)
