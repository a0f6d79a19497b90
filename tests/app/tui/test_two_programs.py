"""Two programs on one chat."""

from __future__ import annotations

from driver import chat
from screenplay import Scripted, rounds

from app.chats.store import Store
from models import locations


async def test_what_one_program_writes_another_sees_and_both_go_on_as_branches() -> None:
    slow = Scripted([rounds("First."), rounds(*(f"word{number} " for number in range(500)))], pace=0.01)
    other = Scripted([rounds("Said by the other.")])
    async with chat(slow) as one:
        await one.ask("Who?")
        await one.see("First.", "○ ready")
        await one.ask("Tell.")
        await one.see("word9 ")
        async with chat(other, resume=True) as two:
            await two.see("Tell.", "◌ another specchat is writing this")
            await two.ask("And you?")
            await two.see("Said by the other.", "○ ready")
        await one.see("word30 ")
        await one.pilot.press("escape")
        await one.see("■ stopped")
    store = Store.open(locations.chats_file())
    (only,) = store.chats()
    texts = [message.text for message in store.messages(only.id)]
    assert texts[:3] == ["Who?", "First.", "Tell."]
    assert "word30 " in texts[3]
    assert texts[4:] == ["And you?", "Said by the other."]
    store.close()
