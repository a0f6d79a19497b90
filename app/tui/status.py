"""The status: what the engine does, in words, a symbol and numbers, and one sentence below."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual.app import RenderResult
from textual.reactive import reactive
from textual.widget import Widget

from app.display import shown
from app.thread.events import Snapshot
from app.tui.speculation import verdict
from app.tui.terminal import palette


class State(Enum):
    """What goes on: the symbol, the words, the colour."""

    LOADING = ("◌", "loading", palette.MUTED)
    READY = ("○", "ready", palette.GOOD)
    READING = ("◐", "reading prompt", palette.ACCENT)
    GENERATING = ("●", "generating", palette.ACCENT)
    STOPPED = ("■", "stopped", palette.WARM)
    ERROR = ("▲", "error", palette.BAD)

    @property
    def busy(self) -> bool:
        """An answer is being made."""
        return self in (State.READING, State.GENERATING)


@dataclass(frozen=True)
class Facts:
    """What the status line shows. None is shown as `-`."""

    state: State = State.LOADING
    snapshot: Snapshot | None = None
    context_limit: int | None = None
    read: tuple[int, int] | None = None  # tokens of the prompt that are read, and that must be


# (name, unit) of K, speed, acceptance rate, acceptance length, time to the first token, context used.
Form = tuple[tuple[str, str], ...]
_FULL: Form = (
    ("K ", ""),
    ("", " tokens/s"),
    ("acceptance rate ", ""),
    ("acceptance length ", ""),
    ("first token ", ""),
    ("context ", " tokens"),
)
_MEDIUM = (
    ("K ", ""),
    ("", " tok/s"),
    ("acceptance rate ", ""),
    ("length ", ""),
    ("TTFT ", ""),
    ("context ", ""),
)
_SHORT = (("K ", ""), ("", " tok/s"), ("rate ", ""), ("length ", ""), ("TTFT ", ""), ("ctx ", ""))
_SHORTEST = (("K ", ""), ("", " tok/s"), ("rate ", ""), ("len ", ""), ("TTFT ", ""), ("ctx ", ""))
_GAP = 2  # cells between fields at least; one alone stands within them too
# What goes first where room is scarce, before a gap does: the first token's time, then the rate, and so on.
_LEFT_OUT: tuple[tuple[int, ...], ...] = ((4,), (4, 2), (4, 2, 3), (4, 2, 3, 5), (4, 2, 3, 5, 0))
_FORMS: tuple[tuple[Form, int, tuple[int, ...]], ...] = (
    (_FULL, 3, ()),
    (_MEDIUM, 3, ()),
    (_SHORT, 3, ()),
    (_SHORT, _GAP, ()),
    (_SHORTEST, _GAP, ()),
    (_SHORTEST, _GAP, _LEFT_OUT[0]),
)


def values(facts: Facts) -> list[str]:
    """The numbers, in the order of the line; `-` for what is not known."""
    now = facts.snapshot
    if now is None:
        return ["-", "-", "-", "-", "-", f"-/{facts.context_limit or '-'}"]
    return [
        str(now.k),
        shown(now.tok_s, "{:.1f}" if (now.tok_s or 0) < 100 else "{:.0f}"),
        shown(now.acceptance_rate, "{:.0%}"),
        shown(now.acceptance_length, "{:.2f}"),
        shown(now.ttft_s, "{:.2f} s" if (now.ttft_s or 0) < 10 else "{:.1f} s"),
        f"{now.context_used}/{facts.context_limit or '-'}",
    ]


def line(facts: Facts, width: int) -> Text:
    """The longest form that fits `width` cells; where none does, whole fields are left out."""
    symbol, words, colour = facts.state.value
    if facts.state is State.READING and facts.read is not None:
        words += " {:,}/{:,}".format(*facts.read)
    state = Text(f"{symbol} {words}", Style(color=colour, bold=True))
    numbers = values(facts)
    for tag in _tags(facts):
        head = state.copy()
        if tag:
            head.append("  ").append_text(tag)
        for form, gap, left_out in _FORMS:
            if cell_len((text := _joined(head, form, gap, numbers, left_out)).plain) <= width:
                return text
    for left_out in _LEFT_OUT[1:]:
        text = _joined(head, _SHORTEST, _GAP, numbers, left_out)
        if cell_len(text.plain) <= width:
            return text
    for text in (head, state):
        if cell_len(text.plain) <= width:
            return text
    state.truncate(width)
    return state


def _tags(facts: Facts) -> list[Text]:
    """The verdict in words, the longest first; the banner says the rest."""
    now = facts.snapshot
    if now is None or now.verdict is None:
        return [Text()]
    return [Text(words, verdict.style(now.verdict)) for words in verdict.tags(now.verdict, now.k)]


def _joined(head: Text, form: Form, gap: int, numbers: list[str], left_out: tuple[int, ...]) -> Text:
    text = head.copy()
    for i, ((name, unit), value) in enumerate(zip(form, numbers, strict=True)):
        if i not in left_out:
            text.append(" " * gap).append(name, palette.MUTED).append(value).append(unit, palette.MUTED)
    return text


class StatusLine(Widget):
    """One row, always there."""

    DEFAULT_CSS = """
    StatusLine {
        height: 1;
        padding: 0 2;
    }
    """

    facts = reactive(Facts())

    def render(self) -> RenderResult:
        """The line for this width."""
        return line(self.facts, self.content_size.width)


class Sentence(Widget):
    """Why speculation is off, how far loading is, what a key did: one thing at a time, in full."""

    DEFAULT_CSS = """
    Sentence {
        height: auto;
        min-height: 1;
        max-height: 3;
        padding: 0 2;
        color: $text-muted;
    }
    """

    text = reactive(Text(), layout=True)

    def render(self) -> RenderResult:
        """The sentence."""
        return self.text
