"""One round drawn: its tokens within the text, and each with its probabilities."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len, set_cell_size
from rich.style import Style
from rich.text import Text

from app.speculation.rounds import MARKS, MEANINGS, Entry, Fate, Line, law, shown_p, token_lines, visible
from app.tui.terminal import palette

_STYLES: dict[Fate, Style] = {
    "accepted": Style(color=palette.GOOD, underline=True),
    "rejected": Style(color=palette.BAD, strike=True),
    "again": Style(color=palette.MUTED, strike=True),
    "fell": Style(color=palette.MUTED, strike=True),
    "past": Style(color=palette.MUTED, strike=True),
    "token": Style(color=palette.WARM, bold=True),
}
_WIDE = 56  # cells from which a token has one line with columns
_PLAIN = "─"


def glyph(entry: Entry) -> str:
    """An entry as one character: how many drafts stand, `+` where all do, a dash for plain steps."""
    if entry.round is None:
        return _PLAIN
    if entry.round.accepted == entry.round.k:
        return "+"
    return "0123456789abcdefg"[entry.round.accepted]


def passage(entry: Entry, width: int) -> Text:
    """The round within its line of text: what was before, its tokens, those that fell between brackets."""
    lines = list(token_lines(entry))
    own = Text() if lines else Text(visible(entry.text))
    fallen = Text()
    for line in lines:
        if line.fate in ("rejected", "again", "fell", "past"):
            fallen.append(line.text, _STYLES[line.fate])
            continue
        if fallen:
            own.append("⟨").append_text(fallen).append("⟩")
        own.append(line.text, _STYLES[line.fate])
    room = max(width - min(own.cell_len, width * 2 // 3) - 1, 0)
    before = visible(entry.before)
    while before and cell_len(before) > room:
        before = before[max(1, (cell_len(before) - room) // 2) :]
    return Text.assemble((f"…{before}", palette.MUTED), own)


def body(entry: Entry, width: int) -> Iterator[Text]:
    """The lines of an entry below its headline, for `width` cells."""
    yield passage(entry, width)
    yield Text()
    lines = list(token_lines(entry))
    if not lines:
        if entry.round is not None:
            yield Text("The details of this round were not taken.", palette.MUTED)
        return
    yield from _table(lines, width) if width >= _WIDE else _stacked(lines)
    yield Text()
    used = dict.fromkeys(line.fate for line in lines)
    yield Text("  ".join(f"{MARKS[fate]} {MEANINGS[fate]}" for fate in used), palette.MUTED)
    yield Text(law(entry), palette.MUTED)


def _table(lines: list[Line], width: int) -> Iterator[Text]:
    """A line a token: mark, token, p, q, what the target preferred."""
    longest = max(cell_len(line.text) for line in lines) + 2
    column = max(8, min(longest, (width - 24) // 2))
    yield Text(f"  {'token':<{column}}  p       q       the target preferred", palette.MUTED)
    for line in lines:
        text = Text(f"{MARKS[line.fate]} ", _STYLES[line.fate] + Style(strike=False, underline=False))
        text.append(_quoted(line.text, column), _STYLES[line.fate])
        gap = column - cell_len(_quoted(line.text, column))
        text.append(" " * gap)
        text.append(f"  {shown_p(line.p):<6}  {'' if line.fate == 'token' else shown_p(line.q):<6}")
        if line.preferred:
            told = f"  {shown_p(line.preferred[1]):<6}  "
            room = width - text.cell_len - cell_len(told)
            text.append(told).append(_quoted(line.preferred[0], max(room, 3)), _STYLES["token"])
        elif line.fate != "token":
            text.append("  the same", palette.MUTED)
        yield text


def _stacked(lines: list[Line]) -> Iterator[Text]:
    """Two or three short lines a token."""
    for line in lines:
        yield Text.assemble(
            (f"{MARKS[line.fate]} ", _STYLES[line.fate] + Style(strike=False, underline=False)),
            (f"“{line.text}”", _STYLES[line.fate]),
        )
        q = "" if line.fate == "token" else f"  q {shown_p(line.q)}"
        yield Text(f"  p {shown_p(line.p)}{q}")
        if line.preferred:
            yield Text.assemble(
                ("  preferred ", palette.MUTED),
                (f"“{line.preferred[0]}”", _STYLES["token"]),
                f" {shown_p(line.preferred[1])}",
            )


def _quoted(text: str, room: int) -> str:
    """In quotes, cut to `room` cells."""
    if cell_len(text) + 2 <= room:
        return f"“{text}”"
    return f"“{set_cell_size(text, max(room - 3, 0))}…”"
