"""One answer in the transcript: one widget from its first token to its last, however long it grows."""

from __future__ import annotations

from collections import Counter

from rich.style import Style
from rich.text import Text
from textual.geometry import Size
from textual.reactive import reactive
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from app.display import neutralise
from app.tui import palette
from app.tui.origins import Origins, kind, tally
from app.tui.reading import Reading
from app.tui.rows import BLANK, Row, wrap
from mlx_spec.events import Round

NOTE = Style(color=palette.MUTED)


class Answer(Widget):
    """Draws rows that `Reading` and `Origins` lay out. Only rows that the screen shows are drawn.

    Attributes:
        text: what the model said, as it said it.
        show_origins: show each token's origin in place of Markdown.
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

    def __init__(self, *, show_origins: bool = False) -> None:
        super().__init__()
        self.set_reactive(Answer.show_origins, show_origins)
        self.text = ""
        self._note = ""
        self._counts: Counter[str] = Counter()
        self._reading = Reading()
        self._origins = Origins()
        self._rows: list[Row] = []
        self._laid_out: tuple[int, bool] | None = None  # for which width and view `_rows` is right

    def add(self, rounds: list[Round]) -> None:
        """Add what the engine released since the last call."""
        pieces = [piece for event in rounds for piece in event.pieces]
        self.text += "".join(text for _, text in pieces)
        self._counts.update(kind(origin) for event in rounds for origin in event.origins)
        shown = [(origin, neutralise(text)) for origin, text in pieces]
        self._reading.feed("".join(text for _, text in shown))
        self._origins.feed(shown)
        self._changed()

    def note(self, text: str) -> None:
        """Say something below the answer; nothing if empty."""
        self._note = text
        self._changed()

    def finish(self, note: str = "") -> None:
        """The answer is complete; `note` says why if it is not the model that ended it."""
        self._reading.finish()
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
        if self._laid_out != (width, self.show_origins):
            self._laid_out = (width, self.show_origins)
            self._rows = (self._origins if self.show_origins else self._reading).rows(width)
            notes = [self._note, tally(self._counts) if self.show_origins and self.text else ""]
            for note in filter(None, notes):
                gap = [BLANK] if self._rows else []
                self._rows = [*self._rows, *gap, *wrap(Text.assemble((note, NOTE)), width)]
        return self._rows

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
