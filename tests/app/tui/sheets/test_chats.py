"""The list of chats: open, search, rename, pin, export, delete and bring back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

import pytest
from showing import Person, showing

from app.chats.records import ChatInfo
from app.tui.sheets.chats import SEARCH_AFTER, Chats, Place
from mlx_spec.errors import SpecError

NOW = datetime(2026, 11, 29, 15, 30)


def at(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


@dataclass(frozen=True)
class Hit:
    chat: ChatInfo
    message_id: int | None
    snippet: str
    start: int


class Shelf:
    """Chats in memory."""

    def __init__(self) -> None:
        self.kept = {
            chat.id: chat
            for chat in (
                ChatInfo("b1", "Bread", 0, at("2026-11-29 14:05"), messages=2, model="builtin"),
                ChatInfo("k2", "한국어 문법에 대한 질문", 0, at("2026-11-28 09:00"), messages=12),
                ChatInfo("t3", "", 0, at("2025-01-02 08:00"), messages=1),
            )
        }
        self.gone: dict[str, ChatInfo] = {}
        self.broken = False

    def chats(self) -> list[ChatInfo]:
        return sorted(self.kept.values(), key=lambda chat: (not chat.pinned, -chat.updated))

    def search(self, text: str) -> list[Hit]:
        snippet = "a long way before it says yeast, and goes on"
        found = [Hit(self.kept["b1"], 7, snippet, snippet.index("yeast"))] if text in "yeast" else []
        return [*found, *(Hit(chat, None, chat.title, 0) for chat in self.chats() if text in chat.title)]

    def rename(self, chat_id: str, title: str) -> None:
        self._change(chat_id, title=title)

    def pin(self, chat_id: str, pinned: bool) -> None:
        self._change(chat_id, pinned=pinned)

    def _change(self, chat_id: str, **changes: object) -> None:
        if self.broken:
            raise SpecError("The chats cannot be written: the disk is full.", "Make room.")
        self.kept[chat_id] = replace(self.kept[chat_id], **changes)  # type: ignore[arg-type]

    def delete(self, chat_id: str) -> None:
        self.gone[chat_id] = self.kept.pop(chat_id)

    def restore(self, chat_id: str) -> None:
        self.kept[chat_id] = self.gone.pop(chat_id)


def export(chat: ChatInfo) -> str:
    if not chat.title:
        raise SpecError("The folder cannot be written.", "Choose another.")
    return f"Wrote {chat.title}.md."


async def show(person: Person, shelf: Shelf, search: str = "") -> None:
    await person.open(Chats(shelf, export, search=search, today=lambda: NOW))


async def search(person: Person, text: str) -> None:
    await person.type(text)
    await person.pilot.pause(SEARCH_AFTER * 1.5)


async def test_chats_stand_with_title_messages_and_date_the_latest_first() -> None:
    async with showing() as person:
        await show(person, Shelf())
        rows = [row for row in person.screen.splitlines() if "message" in row]
        assert "› Bread" in rows[0]
        assert "2 messages       14:05" in rows[0]
        assert "한국어 문법에 대한 질문" in rows[1]
        assert "12 messages  2026-11-28" in rows[1]
        assert "(no title)" in rows[2]


async def test_enter_opens_the_choice() -> None:
    shelf = Shelf()
    async with showing() as person:
        await show(person, shelf)
        await person.press("down", "enter")
        assert person.app.results == [Place(shelf.kept["k2"])]


async def test_what_is_typed_is_searched_for_and_opened_where_it_stands() -> None:
    shelf = Shelf()
    async with showing() as person:
        await show(person, shelf)
        await person.press("slash")
        await search(person, "yeast")
        assert "› Bread" in person.screen
        assert "yeast, and goes on" in person.screen
        await person.press("enter")
        assert person.app.results == [Place(shelf.kept["b1"], 7)]


async def test_korean_is_searched_for() -> None:
    async with showing() as person:
        await show(person, Shelf(), search="문법")
        assert "› 한국어" in person.screen
        assert "Bread" not in person.screen


async def test_esc_leaves_the_field_then_the_list() -> None:
    async with showing() as person:
        await show(person, Shelf())
        await person.press("slash")
        await person.type("zzz")
        await person.pilot.pause(SEARCH_AFTER + 0.05)
        assert "Nothing was found." in person.screen
        await person.press("escape")
        assert "› Bread" in person.screen
        await person.press("escape")
        assert person.app.results == [None]


async def test_one_esc_closes_what_a_search_opened() -> None:
    async with showing() as person:
        await show(person, Shelf(), search="zzz")
        assert "Nothing was found." in person.screen
        await person.press("escape")
        assert person.app.results == [None]


async def test_a_chat_whose_title_and_messages_have_the_words_is_found_once_in_each_message() -> None:
    shelf = Shelf()
    shelf.rename("b1", "yeast bread")
    async with showing() as person:
        await show(person, shelf, search="yeast")
        assert person.screen.count("yeast bread") == 1
        assert "before it says yeast" in person.screen


async def test_dates_do_not_touch_the_frame() -> None:
    async with showing() as person:
        await show(person, Shelf())
        assert "14:05 │" in person.screen


async def test_tab_goes_to_the_search_and_back() -> None:
    shelf = Shelf()
    async with showing() as person:
        await show(person, shelf)
        await person.press("tab", "d", "tab", "d")
        await person.pilot.pause(SEARCH_AFTER * 1.5)
        assert "b1" not in shelf.kept
        assert len(shelf.kept) == 2


async def test_r_renames() -> None:
    shelf = Shelf()
    async with showing() as person:
        await show(person, shelf)
        await person.press("r")
        await person.type(" prd")  # letters are letters there
        await person.press("enter")
        assert shelf.kept["b1"].title == "Bread prd"
        assert "› Bread prd" in person.screen
        await person.press("r", "x", "escape")
        assert shelf.kept["b1"].title == "Bread prd"


async def test_letters_of_a_title_are_never_taken_for_keys() -> None:
    shelf = Shelf()
    async with showing() as person:
        await show(person, shelf)
        await person.press_at_once("r", *"pudre")
        await person.press("enter")
        assert shelf.kept["b1"].title == "Breadpudre"
        assert len(shelf.kept) == 3


async def test_p_pins_and_the_choice_stays_on_its_chat() -> None:
    async with showing() as person:
        await show(person, Shelf())
        await person.press("down", "p")
        rows = [row for row in person.screen.splitlines() if "message" in row]
        assert "› ★ 한국어" in rows[0]
        await person.press("p")
        assert "★" not in person.screen


async def test_d_deletes_and_u_brings_back() -> None:
    shelf = Shelf()
    async with showing() as person:
        await show(person, shelf)
        await person.press("d")
        assert "Deleted Bread · u brings it back" in person.screen
        await person.press("d")
        assert list(shelf.kept) == ["t3"]
        await person.press("u", "u")
        assert len(shelf.kept) == 3
        await person.press("u")
        assert "Nothing was deleted here." in person.screen


async def test_the_last_chat_can_be_deleted() -> None:
    shelf = Shelf()
    async with showing() as person:
        await show(person, shelf)
        await person.press("up", "d", "d", "d", "d", "p", "r", "e", "enter")
        assert shelf.kept == {}
        await person.press("u")
        assert "is back." in person.screen


async def test_e_exports_and_says_what_happened() -> None:
    async with showing() as person:
        await show(person, Shelf())
        await person.press("e")
        assert "Wrote Bread.md." in person.screen
        await person.press("up", "e")
        assert "The folder cannot be written. Choose another." in person.screen


async def test_a_failure_is_said_and_changes_nothing() -> None:
    shelf = Shelf()
    shelf.broken = True
    async with showing() as person:
        await show(person, shelf)
        await person.press("p")
        assert "The chats cannot be written: the disk is full. Make room." in person.screen
        assert "› Bread" in person.screen


@pytest.mark.parametrize("size", [(20, 8), (40, 12)])
async def test_a_small_screen_shows_titles_and_the_rest_of_the_choice(size: tuple[int, int]) -> None:
    async with showing(size=size) as person:
        await show(person, Shelf())
        assert "› Bread" in person.screen
        assert "2 messages" in person.screen
        await person.press("down")
        assert "› 한국어" in person.screen


async def test_what_a_title_holds_is_never_obeyed() -> None:
    shelf = Shelf()
    shelf.rename("b1", "[bold]x[/bold]\x1b]52;c;aGk=\x07\nline")
    async with showing() as person:
        await show(person, shelf)
        assert "[bold]x[/bold]␛]52;c;aGk=␇ line" in person.screen


async def test_the_frame_tells_the_keys_that_work_now() -> None:
    async with showing() as person:
        await show(person, Shelf())
        assert "d delete" in person.screen
        for key, keys in (("slash", "Esc leaves the search"), ("escape", "d delete"), ("r", "Enter renames")):
            await person.press(key)
            assert keys in person.screen
