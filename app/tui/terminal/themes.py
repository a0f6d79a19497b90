"""Themes: each palette as Textual has it, and the filter that draws what others name in its colours."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache, lru_cache

from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter
from textual.theme import Theme

from app.tui.terminal.palette import DARK, PALETTES, Colours

DEFAULT = "dark"
_HUSHED = ("muted", "faint")  # dim, where a theme has no colour of its own for them


class Recolour(LineFilter):
    """Puts a theme's colours for those of the dark palette, which everything names that draws itself."""

    def __init__(self, colours: Colours) -> None:
        super().__init__(enabled=colours != DARK)
        self._ink: dict[RichColor | None, Style] = {}
        self._ground: dict[RichColor | None, Style] = {}
        theirs = asdict(colours)
        for name, ours in asdict(DARK).items():
            new = theirs[name]
            dim = True if new == "default" and name in _HUSHED else None
            self._ink[RichColor.parse(ours)] = Style(color=new, dim=dim)
            self._ground[RichColor.parse(ours)] = Style(bgcolor=new)
        self._drawn = lru_cache(4096)(self._draw)

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments in this theme's colours."""
        return [
            Segment(text, self._drawn(style) if style else style, control)
            for text, style, control in segments
        ]

    def _draw(self, style: Style) -> Style:
        # rich compares colours by their name too, and a name may be written in several ways.
        ink, ground = (
            colour and colour.triplet and RichColor.from_triplet(colour.triplet)
            for colour in (style.color, style.bgcolor)
        )
        return style + self._ink.get(ink, Style.null()) + self._ground.get(ground, Style.null())


@cache
def recolour(name: str) -> Recolour:
    """The filter of a theme."""
    return Recolour(PALETTES[name])


def theme(name: str) -> Theme:
    """A theme as Textual has it."""
    colours = PALETTES[name]
    if colours.ground == "default":
        return Theme(
            name=name,
            ansi=True,
            primary="ansi_cyan",
            secondary="ansi_cyan",
            warning="ansi_yellow",
            error="ansi_red",
            success="ansi_green",
            accent="ansi_cyan",
            foreground="ansi_default",
            background="ansi_default",
            surface="ansi_default",
            panel="ansi_default",
            boost="ansi_default",
            variables={
                "ansi-background": "ansi_default",
                "ansi-foreground": "ansi_default",
                "border": "ansi_cyan",
                "input-selection-background": "ansi_cyan",
                "input-selection-foreground": "ansi_black",
                "screen-selection-background": "ansi_cyan",
                "screen-selection-foreground": "ansi_black",
            },
        )
    return Theme(
        name=name,
        primary=colours.accent,
        secondary=colours.muted,
        accent=colours.accent,
        warning=colours.warm,
        error=colours.bad,
        success=colours.good,
        foreground=colours.ink,
        background=colours.ground,
        surface=colours.raised,
        panel=colours.faint,
        dark=name != "light",
        variables={"text": colours.ink, "text-muted": colours.muted},
    )
