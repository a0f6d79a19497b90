"""One answer in the transcript: one widget from its first token to its last, however long it grows."""

from __future__ import annotations

from collections import Counter

from rich.style import Style
from rich.text import Text
from textual.events import Click
from textual.geometry import Size
from textual.reactive import reactive
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from app.display import neutralise
from app.thinking import Markers, Thinking
from app.tui import palette
from app.tui.origins import Origins, kind, tally
from app.tui.reading import Reading
from app.tui.rows import BLANK, CONSOLE, Row, wrap
from mlx_spec.events import Round

NOTE = Style(color=palette.MUTED)


class Answer(Widget):
    """Draws rows that `Reading` and `Origins` lay out. Only rows that the screen shows are drawn.

    Attributes:
        text: what the model said, as it said it; what the prompt had opened is part of it.
        prompt: tokens of its prompt, and how many of them need not be read; None before that is known.
        show_origins: show each token's origin in place of Markdown.
        show_thought: unfold the thinking.
    """

    DEFAULT_CSS = """
    Answer {
        width: 1fr;
        height: auto;
        max-width: 112;
        margin: 0 2 1 2;
    }
    """

    show_origins = reactive(False, layout=True)
    show_thought = reactive(False, layout=True)

    def __init__(self, *, show_origins: bool = False, show_thought: bool = False) -> None:
        super().__init__()
        self.set_reactive(Answer.show_origins, show_origins)
        self.set_reactive(Answer.show_thought, show_thought)
        self.text = ""
        self.prompt: tuple[int, int] | None = None
        self._opener = ""
        self._thinking = Thinking()
        self._thought = Reading()
        self._ended = False
        self._note = ""
        self._counts: Counter[str] = Counter()
        self._reading = Reading()
        self._origins = Origins()
        self._rows: list[Row] = []
        self._laid_out: tuple[int, bool, bool] | None = None  # for which width and views `_rows` is right

    def expect(self, markers: Markers) -> None:
        """The answer begins; its thinking stands between `markers`."""
        self._opener = markers.opener
        self._thinking = Thinking(markers)

    def add(self, rounds: list[Round]) -> None:
        """Add what the engine released since the last call."""
        for event in rounds:
            split = self._thinking.take(event)
            self._thought.feed(neutralise(split.thought_text))
            self._reading.feed(neutralise(split.text))
            self._origins.feed((origin, neutralise(text)) for origin, text in event.pieces)
            self._counts.update(kind(origin) for origin in event.origins)
            if event.text and not self.text:
                self.text = self._opener
            self.text += event.text
        self._changed()

    def note(self, text: str) -> None:
        """Say something below the answer; nothing if empty."""
        self._note = text
        self._changed()

    def finish(self, note: str = "") -> None:
        """The answer is complete; `note` says why if it is not the model that ended it."""
        self._reading.finish()
        self._thought.finish()
        self._ended = True
        self.note(note)

    def on_mount(self) -> None:
        """Show what came before there was a place for it."""
        self.call_later(self._changed)

    def _changed(self) -> None:
        self._laid_out = None
        # Textual forgets to lay out again what was refreshed more than once before it was mounted.
        if self.is_mounted:
            self.refresh(layout=True)

    def _lay_out(self, width: int) -> list[Row]:
        view = (width, self.show_origins, self.show_thought)
        if self._laid_out != view:
            self._laid_out = view
            self._rows = self._origins.rows(width) if self.show_origins else self._read(width)
            notes = [self._note, tally(self._counts, self.prompt) if self.show_origins and self.text else ""]
            for note in filter(None, notes):
                gap = [BLANK] if self._rows else []
                self._rows = [*self._rows, *gap, *wrap(Text.assemble((note, NOTE)), width)]
        return self._rows

    def _read(self, width: int) -> list[Row]:
        """The answer below its thinking, of which one row shows where it is folded."""
        said = self._reading.rows(width)
        if not self._thinking.tokens:
            return said
        tokens = f"{self._thinking.tokens:,} token{'s' if self._thinking.tokens > 1 else ''}"
        if not self._thinking.unfinished:
            what = f"thought for {tokens}"
        elif self._ended:
            what = f"thought for {tokens}, and had not finished"
        else:
            what = f"thinking, {tokens} so far"
        head = f"▾ {what} · F5 folds" if self.show_thought else f"▸ {what} · F5 unfolds"
        rows = [self._mark(head)]
        if self.show_thought:
            rows += [*self._thought.rows(width), self._mark("▴ end of the thinking")]
        return [*rows, self._mark(""), *said] if said else rows

    @staticmethod
    def _mark(text: str) -> Row:
        """A row that is no part of a copy."""
        return Row(Strip(Text(text, NOTE).render(CONSOLE)), end=0, joint="")

    def on_click(self, event: Click) -> None:
        """Unfold or fold the thinking, at its first row."""
        if event.y == 0 and self._thinking.tokens and not self.show_origins:
            self.show_thought = not self.show_thought

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Rows at `width` cells."""
        return len(self._lay_out(width))

    def render_line(self, y: int) -> Strip:
        """Row `y` of the content."""
        width = self.content_size.width
        rows = self._lay_out(width)
        strip = rows[y].strip if y < len(rows) else BLANK.strip
        strip = strip.adjust_cell_length(width).apply_style(self.rich_style)
        if self.text_selection is not None and (span := self.text_selection.get_span(y)) is not None:
            strip = self._select(strip, *span)
        return strip.apply_offsets(0, y)

    def _select(self, strip: Strip, start: int, end: int) -> Strip:
        style = self.screen.get_component_rich_style("screen--selection")
        text = Text.assemble(*((segment.text, segment.style or Style()) for segment in strip))
        text.stylize(style, start, len(text) if end == -1 else end)
        return Strip(text.render(self.app.console))

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text: lines as the model broke them, not as the screen did; no decoration."""
        copied = ""
        for y, row in enumerate(self._rows):
            if (span := selection.get_span(y)) is None:
                continue
            start, end = span
            text = row.strip.text[: row.end][: None if end == -1 else end][max(start, row.start) :]
            copied += (text.rstrip() if row.joint == "\n" else text) + row.joint
        return copied.rstrip(), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Draw it."""
        self.refresh()
