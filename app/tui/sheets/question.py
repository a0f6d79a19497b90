"""A question over the screen: some sentences, and the answers to choose from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from app.tui.sheets.menu import Item, Menu
from app.tui.sheets.sheet import Sheet


@dataclass(frozen=True)
class Answer:
    """One answer.

    Attributes:
        label: in its row.
        value: that the question closes with; not None.
        note: at the end of its row.
        more: what is shown with the sentences while it is the choice.
    """

    label: str
    value: Any
    note: str = ""
    more: str = ""


class Question(Sheet[Any]):
    """Closes with the value of the answer; page keys scroll what has no room."""

    DEFAULT_CSS = """
    Question {
        & > Vertical { height: auto; max-height: 100%; }
        VerticalScroll { height: auto; scrollbar-size-vertical: 1; }
        #said { max-height: 200; color: $foreground; }
        Menu { margin: 1 0 0 0; }
    }
    Question.-tiny Menu { margin: 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "answer", "Answer", priority=True)]

    def __init__(self, title: str, sentences: Sequence[str], answers: Sequence[Answer]) -> None:
        super().__init__(title, "", "Enter chooses · Esc closes")
        self._sentences = sentences
        self._answers = [Item(each.label, "", each.note, each) for each in answers]

    def compose(self) -> ComposeResult:
        """The sentences above the answers."""
        with Vertical() as frame:
            frame.border_title = Content(self._title)
            frame.border_subtitle = Content(self._keys)
            with VerticalScroll(can_focus=False):
                yield Static(id="said", markup=False)
            menu = Menu()
            menu.styles.height = len(self._answers)
            yield menu

    def on_resize(self, event: events.Resize) -> None:
        """The answers keep their lines; the sentences have the rest."""
        around = 3 if event.size.height >= 12 else 0  # the frame, and a line between
        room = event.size.height - len(self._answers) - around
        self.query_one(VerticalScroll).styles.max_height = max(room, 2)

    def rows(self, part: str) -> Sequence[Item]:
        """The answers."""
        return self._answers

    def about(self, item: Item | None) -> str:
        """The sentences, whatever the choice, and what there is to say of it."""
        more = item.value.more if item else ""
        return "\n".join([*self._sentences, *([f"\n{more}"] if more else [])])

    def choose(self, item: Item) -> None:
        """Close with the answer's value."""
        self.dismiss(item.value.value)

    def action_answer(self) -> None:
        """Enter."""
        self.entered()

    def action_page(self, pages: int) -> None:
        """Read on."""
        text = self.query_one(VerticalScroll)
        text.scroll_relative(y=pages * max(text.size.height - 1, 1), animate=False)
