"""Rows of the screen: text broken to a width, which still knows where its real lines end."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rich.cells import cell_len, split_graphemes
from rich.console import Console, RenderableType
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from rich.theme import Theme
from textual.strip import Strip

from app.tui.terminal import palette
from app.tui.text.copied import COPIED, NUMBER

TAB = 4  # cells
MARGIN = 2  # cells left and right of code
_MORE = Style(color=palette.WARM, bold=True)
_WORD = re.compile(r"(?P<gap>\s*)(?P<word>\S+)")

# Never writes anywhere: it only lays text out.
CONSOLE = Console(
    width=80,
    color_system="truecolor",
    force_terminal=True,
    markup=False,
    emoji=False,
    highlight=False,
    legacy_windows=False,
    _environ={},
    theme=Theme(
        {
            "markdown.h1": Style(bold=True, underline=True),
            "markdown.h2": Style(bold=True),
            "markdown.h3": Style(bold=True),
            "markdown.h4": Style(bold=True, italic=True),
            "markdown.h5": Style(italic=True),
            "markdown.h6": Style(italic=True),
            "markdown.code": Style(color=palette.WARM, bgcolor=palette.RAISED),
            "markdown.em": Style(italic=True),
            "markdown.strong": Style(bold=True),
            "markdown.s": Style(strike=True),
            "markdown.block_quote": Style(color=palette.MUTED),
            "markdown.hr": Style(color=palette.FAINT),
            "markdown.item.bullet": Style(color=palette.ACCENT),
            "markdown.item.number": Style(color=palette.ACCENT),
            "markdown.link": Style(underline=True),
            "markdown.copied": COPIED,
            "markdown.number": NUMBER,
            "markdown.link_url": Style(color=palette.MUTED),
            "markdown.table.border": Style(color=palette.FAINT),
            "markdown.table.header": Style(bold=True),
        }
    ),
)


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the screen.

    Attributes:
        strip: what is drawn, at most the width that it was made for.
        start, end: the characters of the strip that are text; around them is decoration.
        joint: what stands in the text between this row and the next: a line's end, or what was cut
            where the width ended.
        ground: of a row that may be wider than the screen and is reached by moving sideways: the style
            around it. Its strip is its text alone.
    """

    strip: Strip
    start: int = 0
    end: int | None = None
    joint: str = "\n"
    ground: Style | None = None

    @property
    def width(self) -> int:
        """Cells that it needs to show in full."""
        return self.strip.cell_length + (2 * MARGIN if self.ground is not None else 0)

    def view(self, width: int, shift: int) -> tuple[Strip, Strip, Strip, int]:
        """What shows of it in `width` cells after moving `shift` cells sideways.

        Returns:
            Its left edge, its text, its right edge, and how many characters of the text are left of that.
        """
        if self.ground is None:
            return _NOTHING, self.strip, _NOTHING, 0
        inner = max(width - 2 * MARGIN, 1)
        text = self.strip.crop_extend(shift, shift + inner, self.ground)
        marked = self.ground + _MORE
        left = Segment("‹ " if shift and self.strip.cell_length else "  ", marked)
        right = Segment(" ›" if self.strip.cell_length > shift + inner else "  ", marked)
        return Strip([left]), text, Strip([right]), len(self.strip.crop(0, shift).text)

    def copied(self, start: int, end: int | None) -> str:
        """The text between two of its characters, without what was put in to explain it."""
        start = max(start, self.start)
        end = len(self.strip.text) if end is None else end
        end = end if self.end is None else min(end, self.end)
        text, at = "", 0
        for part, style, _ in self.strip:
            if not (style and style.meta.get("aside")):
                text += part[max(start - at, 0) : max(end - at, 0)]
            at += len(part)
        return text


_NOTHING = Strip([])
BLANK = Row(_NOTHING)


def wrap(text: Text, width: int) -> list[Row]:
    """Break one line of prose at words; within a word only if it is wider than a row.

    rich's own `Text.wrap` cuts wide spaces in half and fails on stray joiners.
    """
    text.expand_tabs(TAB)
    width = max(width, 1)
    cuts: list[int] = []  # where a row ends, where the next begins, and so on
    used = 0
    for found in _WORD.finditer(text.plain):
        (start, end), (begin, _) = found.span("gap"), found.span("word")
        word = cell_len(found["word"])
        used += cell_len(found["gap"])
        # The gap at the beginning of a line is its indent, and is kept where it fits.
        if used + word > width and (start > 0 or used >= width):
            cuts += [start, end]
            used = 0
        if used + word <= width:
            used += word
            continue
        for at, _end, cells in split_graphemes(found["word"])[0]:
            if used + cells > width and used:
                cuts += [begin + at] * 2
                used = 0
            used += cells
    parts = text.divide([*cuts, len(text.plain.rstrip())])
    joints = [part.plain for part in parts[1:-1:2]]
    rows = [Strip(part.render(CONSOLE)) for part in parts[0::2]]
    return [Row(row, joint=joint) for row, joint in zip(rows, [*joints, "\n"], strict=True)]


def straight(text: Text, style: Style) -> Row:
    """One line of code, however long, on a ground of `style`."""
    text.expand_tabs(TAB)
    return Row(Strip(Segment.apply_style(text.render(CONSOLE), style)), ground=style)


def fold(text: Text, width: int, *, style: Style) -> list[Row]:
    """Break one line of code wherever the width ends, on a ground of `style` with a margin at both sides."""
    text.expand_tabs(TAB)
    inner = max(width - 2 * MARGIN, 1)
    breaks, used = [], 0
    for at, _end, cells in split_graphemes(text.plain)[0]:
        if used + cells > inner and used:
            breaks.append(at)
            used = 0
        used += cells
    edge = Segment(" " * MARGIN, style)
    rows = []
    lines = text.divide(breaks)
    for at, line in enumerate(lines):
        fill = Segment(" " * max(width - MARGIN - cell_len(line.plain), 0), style)
        body = Segment.apply_style(line.render(CONSOLE), style)
        joint = "" if at < len(lines) - 1 else "\n"
        rows.append(Row(Strip([edge, *body, fill]), MARGIN, MARGIN + len(line), joint))
    return rows


def lay_out(renderable: RenderableType, width: int) -> list[Row]:
    """The rows of a rich renderable, without blank ones at both ends."""
    options = CONSOLE.options.update(width=max(width, 1), height=None)
    rows = [Row(Strip(line)) for line in CONSOLE.render_lines(renderable, options, pad=False)]
    while rows and not rows[0].strip.text.strip():
        del rows[0]
    while rows and not rows[-1].strip.text.strip():
        del rows[-1]
    return rows
