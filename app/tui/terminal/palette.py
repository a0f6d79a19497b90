"""The colours of each theme. Nothing is said by colour alone.

What draws names the colours of the dark theme; `themes` puts those of another in their place.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass


@dataclass(frozen=True)
class Colours:
    """One theme: `#rrggbb`, or for the terminal's own colours their names.

    Attributes:
        ground, raised: behind everything, behind code and boxes.
        ink, muted: text; text that matters less.
        faint: lines, never text.
        accent, warm, good, bad: text that stands out, is a caution, fine, or a failure.
    """

    ground: str
    raised: str
    ink: str
    muted: str
    faint: str
    accent: str
    warm: str
    good: str
    bad: str

    @property
    def words(self) -> tuple[str, ...]:
        """Those that text is drawn in."""
        return (self.ink, self.muted, self.accent, self.warm, self.good, self.bad)


DARK = Colours(
    ground="#15171b",
    raised="#1c1f25",
    ink="#d5d8de",
    muted="#8f96a3",
    faint="#4a505c",
    accent="#82b5c9",
    warm="#d3ad74",
    good="#9dba8c",
    bad="#d68a84",
)
LIGHT = Colours(
    ground="#fbfaf6",
    raised="#efede7",
    ink="#26282d",
    muted="#5b606b",
    faint="#b4b8c0",
    accent="#1f6079",
    warm="#7a4e12",
    good="#3b6128",
    bad="#9c332e",
)
CONTRAST = Colours(
    ground="#000000",
    raised="#161616",
    ink="#ffffff",
    muted="#d2d2d2",
    faint="#8c8c8c",
    accent="#66d9ff",
    warm="#ffd866",
    good="#8cff8c",
    bad="#ffa3a3",
)
TERMINAL = Colours(
    ground="default",
    raised="default",
    ink="default",
    muted="default",
    faint="default",
    accent="cyan",
    warm="yellow",
    good="green",
    bad="red",
)
PALETTES = {"dark": DARK, "light": LIGHT, "contrast": CONTRAST, "terminal": TERMINAL}

GROUND, RAISED, INK, MUTED, FAINT, ACCENT, WARM, GOOD, BAD = astuple(DARK)


def contrast(one: str, other: str) -> float:
    """How well text in one colour reads on the other: 1 not at all, 21 black on white (WCAG 2.2, 1.4.3).

    Args:
        one, other: `#rrggbb`.
    """
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
