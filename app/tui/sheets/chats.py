"""All chats: open, search, rename, pin, export, delete and bring back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import ClassVar, Protocol

from textual import events
from textual.timer import Timer
from textual.widgets import Input

from app.chats.records import ChatInfo
from app.display import neutralise
from app.errors import sentence
from app.tui.sheets.menu import Item
from app.tui.sheets.sheet import Sheet
from mlx_spec.errors import SpecError

SEARCH_AFTER = 0.1  # seconds without a key
_LEAD = 16  # characters of a snippet before what was searched for
_FIND = "/ to search"
_OF_LIST = "Enter opens · r rename · p pin · d delete · u undo · e export"
_OF_SEARCH = "Enter opens · Esc leaves the search"
_OF_TITLE = "Enter renames · Esc leaves it as it was"


class Found(Protocol):
    """Something that a search found: in a message, or in a title if `message_id` is None."""

    @property
    def chat(self) -> ChatInfo: ...
    @property
    def message_id(self) -> int | None: ...
    @property
    def snippet(self) -> str: ...
    @property
    def start(self) -> int: ...


class Shelf(Protocol):
    """Where chats are kept. Every method may raise SpecError."""

    def chats(self) -> Sequence[ChatInfo]: ...
    def search(self, text: str) -> Sequence[Found]: ...
    def rename(self, chat_id: str, title: str) -> None: ...
    def pin(self, chat_id: str, pinned: bool) -> None: ...
    def delete(self, chat_id: str) -> None: ...
    def restore(self, chat_id: str) -> None: ...


@dataclass(frozen=True)
class Place:
    """What to open: a chat, at a message if a search found one."""

    chat: ChatInfo
    message_id: int | None = None


class Chats(Sheet[Place]):
    """Closes with what to open."""

    AUTO_FOCUS = ""  # letters are keys until one searches
    # Not bindings: those wait their turn, and letters of a new title would be taken for keys of the list.
    KEYS: ClassVar[dict[str, str]] = {
        "enter": "open",
        "slash": "search",
        "tab": "search",
        "r": "rename",
        "p": "pin",
        "d": "delete",
        "delete": "delete",
        "u": "undelete",
        "e": "export",
    }

    def __init__(
        self,
        shelf: Shelf,
        export: Callable[[ChatInfo], str],
        *,
        search: str = "",
        today: Callable[[], datetime] = datetime.now,
    ) -> None:
        """Show what `shelf` keeps.

        Args:
            export: writes a chat to a file and returns a sentence about it; it may raise SpecError.
            search: what to search for at first.
            today: the wall clock.
        """
        super().__init__("Chats", _FIND, _OF_LIST, search)
        self._shelf = shelf
        self._export = export
        self._today = today
        self._renaming: ChatInfo | None = None
        self._deleted: list[ChatInfo] = []
        self._timer: Timer | None = None

    def find(self, part: str) -> None:
        """Show all chats, or where `part` stands; the choice stays on its chat."""
        before = self._chosen
        try:
            rows = self._rows(part)
        except SpecError as error:
            self.show([])
            self.say(sentence(error))
            return
        same = (at for at, row in enumerate(rows) if before and row.value.chat.id == before.id)
        self.show(rows, next(same, min(self.menu.at or 0, max(len(rows) - 1, 0))))

    def _rows(self, part: str) -> list[Item]:
        if part.strip():
            hits = self._shelf.search(part)
            told = {hit.chat.id for hit in hits if hit.message_id is not None}
            # A chat whose messages have it too is there with those, and its title on each of them.
            return [
                self._row(Place(hit.chat, hit.message_id), "" if hit.message_id is None else _around(hit))
                for hit in hits
                if hit.message_id is not None or hit.chat.id not in told
            ]
        return [self._row(Place(chat)) for chat in self._shelf.chats()]

    def _row(self, place: Place, detail: str = "") -> Item:
        chat = place.chat
        title = f"{'★ ' if chat.pinned else ''}{chat.title or '(no title)'}"
        when = _when(chat.updated, self._today())
        note = when if detail else f"{_messages(chat):>12}  {when:>10}"
        return Item(title, detail, note, place)

    @property
    def _chosen(self) -> ChatInfo | None:
        choice = self.menu.choice
        return choice.value.chat if choice else None

    def about(self, item: Item | None) -> str:
        """What the row may have no room for."""
        if item is None:
            return "Nothing was found." if self.field.value else "There are no chats yet."
        chat: ChatInfo = item.value.chat
        when = datetime.fromtimestamp(chat.updated).strftime("%Y-%m-%d %H:%M")
        facts = [
            _messages(chat),
            when,
            *(["pinned"] if chat.pinned else []),
            *([chat.model] if chat.model else []),
        ]
        return item.detail or " · ".join(facts)

    def on_descendant_focus(self) -> None:
        """Letters go into the field from here on."""
        self.tell_keys(_OF_TITLE if self._renaming else _OF_SEARCH)

    def on_descendant_blur(self) -> None:
        """Letters are keys again."""
        self.tell_keys(_OF_LIST)

    # Typing: words to search for, or a title

    def typed(self, text: str) -> None:
        """Search once the typing pauses."""
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(SEARCH_AFTER, self._search)

    def _search(self) -> None:
        if self._renaming is None:
            self.find(self.field.value)

    def entered(self) -> None:
        """A new title; or open what was found."""
        if self._renaming is None:
            super().entered()
            return
        named, title = self._renaming.id, self.field.value.strip()
        self._leave_field()
        self.find("")
        if title and self._does(partial(self._shelf.rename, named, title)):
            self.say(f"Renamed to {title}.")

    def action_search(self) -> None:
        """Type what to search for; or, from there, back to the list."""
        self.set_focus(None if self.focused is self.field else self.field)

    def action_close(self) -> None:
        """Out of the field first, then out of the list."""
        if self.focused is self.field:
            self._leave_field()
            self.find("")
        else:
            self.dismiss(None)

    def _leave_field(self) -> None:
        self._renaming = None
        with self.prevent(Input.Changed):
            self.field.value = ""
        self.field.placeholder = _FIND
        self.set_focus(None)

    # Keys of the list

    async def on_key(self, event: events.Key) -> None:
        """A key of the list; or one that was on its way while the field got the focus."""
        typing = self.focused is self.field
        if typing and event.is_printable and event.character:
            event.stop()
            self.field.insert_text_at_cursor(event.character)
        elif event.key in self.KEYS and (event.key == "tab" or not typing):
            event.stop()
            event.prevent_default()
            await self.run_action(f"screen.{self.KEYS[event.key]}")

    def action_open(self) -> None:
        """Open the choice."""
        self.entered()

    def action_rename(self) -> None:
        """Type another title."""
        if (chat := self._chosen) is not None:
            self._renaming = chat
            with self.prevent(Input.Changed):
                self.field.value = neutralise(chat.title)
            self.field.placeholder = "title"
            self.field.action_end()
            self.set_focus(self.field)

    def action_pin(self) -> None:
        """Keep the choice at the top, or no longer."""
        if (chat := self._chosen) is not None:
            self._does(partial(self._shelf.pin, chat.id, not chat.pinned))

    def action_delete(self) -> None:
        """Delete the choice; `u` brings it back."""
        if (chat := self._chosen) is not None and self._does(partial(self._shelf.delete, chat.id)):
            self._deleted.append(chat)
            self.say(f"Deleted {chat.title or 'it'} · u brings it back")

    def action_undelete(self) -> None:
        """Bring the chat back that was deleted last."""
        if not self._deleted:
            self.say("Nothing was deleted here.")
        elif self._does(partial(self._shelf.restore, self._deleted[-1].id)):
            self.say(f"{self._deleted.pop().title or 'It'} is back.")

    def action_export(self) -> None:
        """Write the choice to a file."""
        if (chat := self._chosen) is not None:
            try:
                self.say(self._export(chat))
            except SpecError as error:
                self.say(sentence(error))

    def _does(self, change: Callable[[], None]) -> bool:
        """Change something and show the list as it is then; False if it failed, which is said."""
        try:
            change()
        except SpecError as error:
            self.say(sentence(error))
            return False
        self.find(self.field.value)
        return True


def _messages(chat: ChatInfo) -> str:
    return f"{chat.messages:,} message{'s' if chat.messages != 1 else ''}"


def _when(seconds: float, now: datetime) -> str:
    then = datetime.fromtimestamp(seconds)
    return then.strftime("%H:%M" if then.date() == now.date() else "%Y-%m-%d")


def _around(hit: Found) -> str:
    """The snippet, cut so that what was searched for is in view."""
    cut = max(hit.start - _LEAD, 0)
    return ("…" if cut else "") + hit.snippet[cut:]
