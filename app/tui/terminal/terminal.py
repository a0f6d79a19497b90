"""What the app asks of its terminal besides the screen: colours, the clipboard, the bell."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from textual.app import App
from textual.filter import LineFilter

from app.desk import clipboard
from app.display import neutralise
from app.settings.settings import THEMES
from app.tui.harmless import HARMLESS
from app.tui.terminal import attention, inside, themes
from models import locations

LONGEST = 300  # characters of a hint


class TerminalApp(App[int]):
    """An app in one of our themes."""

    def __init__(self) -> None:
        self._amiss = inside.amend()
        self._plain = os.environ.get("NO_COLOR") is not None
        # Without colour, Textual draws in the terminal's own two; otherwise in shades of grey.
        super().__init__(ansi_color=True if self._plain else None)
        for name in THEMES:
            self.register_theme(themes.theme(name))
        self.theme = "terminal" if self._plain else themes.DEFAULT

    def on_ready(self) -> None:
        """Tell what does not work here."""
        if self._amiss:
            self.hint(self._amiss)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Textual's, after those that let nothing harmful pass and draw in the theme's colours."""
        ours = themes.recolour(self.theme)
        return [HARMLESS, *([ours] if ours.enabled else []), *super().get_line_filters()]

    def hint(self, text: str, timeout: float = 4) -> None:
        """Say something that passes, in the place of what was said before."""
        if len(text) > LONGEST:  # most of it is what the person wrote; the next step is at the end
            text = f"{text[: LONGEST // 2].rstrip()} … {text[-LONGEST // 2 :].lstrip()}"
        self.notify(neutralise(text), timeout=timeout, markup=False)

    def on_notify(self) -> None:
        """One voice: what it said before goes."""
        self.clear_notifications()

    def open_theme(self, chosen: str | None) -> None:
        """Begin with the theme that an option chose, or that /theme chose last."""
        if not self._plain:
            self.theme = chosen or kept_theme() or themes.DEFAULT

    def choose_theme(self, name: str) -> str:
        """Change the theme, now and for the next time; the next one if `name` is empty.

        Returns:
            A sentence about what was done.
        """
        if self._plain:
            return "NO_COLOR is set, so there are no colours to choose."
        self.theme = name or THEMES[(THEMES.index(self.theme) + 1) % len(THEMES)]
        try:
            keep_theme(self.theme)
        except OSError as error:
            return f"Theme: {self.theme}, for now; it could not be kept: {error.strerror}."
        return f"Theme: {self.theme}."

    def copy_to_clipboard(self, text: str) -> None:
        """Copy, and say what really happened."""
        said = clipboard.copy(text, super().copy_to_clipboard, os.environ)
        self.hint(said)

    def call_back(self, seconds: float, words: str) -> None:
        """An answer ended that took so long: tell a person who looks elsewhere."""
        written = attention.signal(seconds, focused=self.app_focus, words=words, environ=os.environ)
        if written and self._driver is not None:
            self._driver.write(written)


def kept_theme(file: Path | None = None) -> str | None:
    """What /theme chose last, if that is still a theme."""
    try:
        name = (file or _theme_file()).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:  # the first time, there is none
        return None
    return name if name in THEMES else None


def keep_theme(name: str, file: Path | None = None) -> None:
    """Keep what /theme chose.

    Raises:
        OSError: it cannot be written.
    """
    file = file or _theme_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{name}\n", encoding="utf-8")


def _theme_file() -> Path:
    return locations.data_dir() / "theme"
