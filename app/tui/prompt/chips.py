"""A text box in which long pastes are chips, each changed as a whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.style import Style
from rich.text import Text
from textual import events
from textual.widgets import TextArea
from textual.widgets.text_area import Edit, EditResult

from app.display import neutralise
from app.tui.prompt.pastes import Pastes
from app.tui.terminal import palette

CHIP = Style(color=palette.ACCENT, bgcolor=palette.RAISED, italic=True)


class ChipArea(TextArea):
    """Shows chips; what is read from it by `message` and `selected_text` has the pastes in full."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._pastes = Pastes()

    @property
    def message(self) -> str:
        """What is written, with folded pastes in full."""
        return self._pastes.unfold(self.text)

    @property
    def selected_text(self) -> str:
        """What is selected, with folded pastes in full."""
        return self._pastes.unfold(super().selected_text)

    def get_line(self, line_index: int) -> Text:
        """A line, its chips marked."""
        line = super().get_line(line_index)
        for start, end in self._pastes.chips(line.plain):
            line.stylize(CHIP, start, end)
        return line

    def edit(self, edit: Edit) -> EditResult:
        """Every change comes through here: a chip is changed as a whole or not at all."""
        (top, start), (bottom, end) = edit.top, edit.bottom
        empty = edit.top == edit.bottom
        for first, last in self._pastes.chips(self.document[top]):
            if first < start < last:
                start = last if empty else first
        for first, last in self._pastes.chips(self.document[bottom]):
            if first < end < last:
                end = last
        edit.from_location, edit.to_location = (top, start), (bottom, end)
        return super().edit(edit)

    def undo(self) -> None:
        """Take a change back."""
        self._from_the_top(super().undo)

    def redo(self) -> None:
        """Make it again."""
        self._from_the_top(super().redo)

    def _from_the_top(self, change: Callable[[], None]) -> None:
        # TextArea moves the cursor last, and fails if its line is gone by then.
        cursor, text = self.cursor_location, self.text
        self.move_cursor((0, 0))
        change()
        if self.text == text:
            self.move_cursor(cursor)

    def unfold(self) -> None:
        """Write the paste at the cursor out, or the last one before it."""
        row, column = self.cursor_location
        before = [span for span in self._pastes.chips(self.document[row]) if span[0] <= column]
        if not before:
            self.notify("There is no folded paste before the cursor in this line.", markup=False)
            return
        start, end = max(before)
        text = self._pastes.unfold(self.document[row][start:end])
        self.replace(text, (row, start), (row, end), maintain_selection_offset=False)

    async def _on_paste(self, event: events.Paste) -> None:
        # Before TextArea's own handler, which would draw control codes as they are.
        # Terminals paste line ends as carriage returns.
        text = neutralise(event.text.replace("\r\n", "\n").replace("\r", "\n"))
        event.text = self._pastes.fold(text, among=self.text)
