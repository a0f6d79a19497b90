"""A list over the screen: type to find, Enter chooses, Esc closes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Generic, TypeVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from app.display import neutralise
from app.tui.sheets.menu import Item, Menu

Result = TypeVar("Result")


class Sheet(ModalScreen[Result | None], Generic[Result]):
    """A title, a field to type in, a list, and a line about the choice."""

    DEFAULT_CSS = """
    Sheet {
        align: center middle;
        & > Vertical {
            width: 92%; max-width: 100; height: 90%;
            border: round $primary 60%;
            border-title-color: $text-muted;
            border-subtitle-color: $text-muted;
            background: $background;
        }
        Input {
            height: 1; border: none; padding: 0 1;
            background: $background; color: $foreground;
        }
        Input:focus { border: none; }
        Input > .input--placeholder { color: $text-muted; }
        #said { height: auto; min-height: 1; max-height: 2; padding: 0 1; color: $text-muted; }
    }
    Sheet.-tiny > Vertical { width: 100%; height: 100%; border: none; }
    """
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (12, "-normal")]  # noqa: RUF012  as Screen has it
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Close", priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("pageup", "page(-1)", show=False, priority=True),
        Binding("pagedown", "page(1)", show=False, priority=True),
        # A modal screen hides the app's own keys.
        Binding("ctrl+q", "app.quit", "Quit", priority=True),
        Binding("ctrl+c", "app.interrupt", "Copy, stop or quit", priority=True),
    ]

    def __init__(
        self, title: str, placeholder: str, keys: str = "Enter runs · Esc closes", typed: str = ""
    ) -> None:
        super().__init__()
        self._typed = typed
        self._title = title
        self._placeholder = placeholder
        self._keys = keys

    def compose(self) -> ComposeResult:
        """The field above the list."""
        with Vertical() as frame:
            frame.border_title = Content(neutralise(self._title))
            frame.border_subtitle = Content(self._keys)
            yield Input(self._typed, self._placeholder, select_on_focus=False)
            yield Menu()
            yield Static(id="said", markup=False)

    def on_mount(self) -> None:
        """What goes with what is typed at first."""
        self.find(self._typed)

    def rows(self, part: str) -> Sequence[Item]:
        """The rows for what is typed so far."""
        raise NotImplementedError

    def choose(self, item: Item) -> None:
        """Enter on a row, or a click: the sheet closes with its value."""
        self.dismiss(item.value)

    def find(self, part: str) -> None:
        """Show what goes with `part`."""
        self.show(self.rows(part))

    def show(self, rows: Sequence[Item], at: int = 0) -> None:
        """Show these rows, with the choice at one of them."""
        self.menu.show(rows, at)
        self.say(self.about(self.menu.choice))

    def typed(self, text: str) -> None:
        """Something was typed into the field."""
        self.find(text)

    def entered(self) -> None:
        """Enter, also in the field."""
        if self.menu.choice is not None:
            self.choose(self.menu.choice)

    @property
    def field(self) -> Input:
        """Where one types."""
        return self.query_one(Input)

    @property
    def menu(self) -> Menu:
        """The list."""
        return self.query_one(Menu)

    def say(self, text: str) -> None:
        """Show `text` below the list."""
        self.query_one("#said", Static).update(Content(neutralise(text)))

    def tell_keys(self, keys: str) -> None:
        """Say in the frame what keys do now."""
        self.query_one(Vertical).border_subtitle = Content(keys)

    def about(self, item: Item | None) -> str:
        """What stands below the list while `item` is the choice: what its row has no room for."""
        if item is None:
            return "Nothing goes with that."
        return "" if self.menu.tells(item) else item.detail

    def on_input_changed(self, message: Input.Changed) -> None:
        """Find while typing."""
        self.typed(message.value)

    def on_input_submitted(self) -> None:
        """Enter in the field."""
        self.entered()

    def on_menu_chosen(self) -> None:
        """A click."""
        self.entered()

    def on_menu_moved(self, message: Menu.Moved) -> None:
        """Tell about the choice."""
        self.say(self.about(message.item))

    def action_move(self, rows: int) -> None:
        """Another choice."""
        self.menu.move(rows)

    def action_page(self, pages: int) -> None:
        """A choice further on."""
        self.menu.move(pages * max(self.menu.size.height - 1, 2))

    def action_close(self) -> None:
        """Close without a choice."""
        self.dismiss(None)

    def on_click(self, event: events.Click) -> None:
        """A click beside the sheet closes it."""
        if event.widget is self:
            self.dismiss(None)
