"""The colours: one calm dark set. Nothing is said by colour alone."""

from __future__ import annotations

from textual.theme import Theme

GROUND = "#15171b"
RAISED = "#1c1f25"
INK = "#d5d8de"
MUTED = "#8f96a3"
FAINT = "#4a505c"
ACCENT = "#82b5c9"
WARM = "#d3ad74"
GOOD = "#9dba8c"
BAD = "#d68a84"

THEME = Theme(
    name="specchat",
    primary=ACCENT,
    secondary=MUTED,
    accent=ACCENT,
    warning=WARM,
    error=BAD,
    success=GOOD,
    foreground=INK,
    background=GROUND,
    surface=RAISED,
    panel=FAINT,
)
