"""The open chat as a tree: nothing is destroyed, and every branch is found again."""

from __future__ import annotations

from app.chats.conversation import Conversation
from app.chats.records import ChatMessage


def exchange(conversation: Conversation, question: str, answer: str) -> tuple[int, int]:
    """Ask and answer; returns the ids of both."""
    asked = conversation.ask(question)
    conversation.answer()
    conversation.say([("plain", answer)])
    return asked.id, conversation.settle("done").id


def texts(conversation: Conversation) -> list[str]:
    return [message.text for message in conversation.path]


def test_an_answer_grows_and_keeps_where_each_part_came_from() -> None:
    conversation = Conversation()
    conversation.ask("Who?")
    conversation.answer()
    conversation.say([("target", "I"), ("draft:lookup", " am")])
    conversation.say([("plain", ".")])
    assert conversation.under_way is not None
    assert conversation.under_way.text == "I am."
    settled = conversation.settle("done")
    assert settled.pieces == (("target", "I"), ("draft:lookup", " am"), ("plain", "."))
    assert conversation.under_way is None
    assert texts(conversation) == ["Who?", "I am."]


def test_another_answer_is_a_sibling_of_the_first() -> None:
    conversation = Conversation()
    _, first = exchange(conversation, "Who?", "One.")
    conversation.answer()
    conversation.say([("plain", "Two.")])
    second = conversation.settle("done").id
    assert texts(conversation) == ["Who?", "Two."]
    assert conversation.branches() == {second: (2, 2)}
    assert conversation.step(second, -1)
    assert texts(conversation) == ["Who?", "One."]
    assert not conversation.step(first, -1)


def test_an_edited_question_is_a_branch_and_stepping_finds_the_end_of_each() -> None:
    conversation = Conversation()
    exchange(conversation, "Who?", "One.")
    old, _ = exchange(conversation, "And?", "Two.")
    exchange(conversation, "More?", "Three.")
    new = conversation.edit(old, "But?").id
    conversation.answer()
    conversation.say([("plain", "Four.")])
    conversation.settle("done")
    assert texts(conversation) == ["Who?", "One.", "But?", "Four."]
    conversation.step(new, -1)
    assert texts(conversation) == ["Who?", "One.", "And?", "Two.", "More?", "Three."]
    conversation.step(old, 1)
    assert texts(conversation) == ["Who?", "One.", "But?", "Four."]


def test_going_back_can_be_taken_back_until_something_else_is_said() -> None:
    conversation = Conversation()
    exchange(conversation, "Who?", "One.")
    exchange(conversation, "And?", "Two.")
    asked = conversation.undo()
    assert asked is not None
    assert asked.text == "And?"
    assert texts(conversation) == ["Who?", "One."]
    conversation.undo()
    assert texts(conversation) == []
    assert conversation.undo() is None
    assert conversation.redo()
    assert conversation.redo()
    assert texts(conversation) == ["Who?", "One.", "And?", "Two."]
    assert not conversation.redo()
    conversation.undo()
    exchange(conversation, "Else?", "Three.")
    assert not conversation.redo()
    assert texts(conversation) == ["Who?", "One.", "Else?", "Three."]
    assert conversation.branches()[conversation.path[2].id] == (2, 2), "what was undone is there yet"


def test_a_stopped_answer_goes_on_in_the_same_message() -> None:
    conversation = Conversation()
    conversation.ask("Count.")
    conversation.answer()
    conversation.say([("plain", "1 ")])
    stopped = conversation.settle("stopped")
    assert conversation.go_on().id == stopped.id
    conversation.say([("target", "2")])
    assert conversation.settle("done").text == "1 2"
    assert len(conversation.path) == 2


def test_what_was_taken_back_before_its_first_word_leaves_no_trace() -> None:
    conversation = Conversation()
    exchange(conversation, "Who?", "One.")
    before = texts(conversation)
    conversation.ask("Hasty")
    conversation.answer()
    assert [message.role for message in conversation.withdraw()] == ["assistant", "user"]
    assert texts(conversation) == before
    conversation.answer()
    assert [message.role for message in conversation.withdraw()] == ["assistant"]
    assert texts(conversation) == before
    conversation.edit(conversation.path[0].id, "What?")
    conversation.answer()
    conversation.withdraw()
    assert texts(conversation) == before
    assert conversation.branches() == {}


def test_a_question_that_nobody_answered_does_not_stand_before_the_next() -> None:
    kept = [
        ChatMessage(5, None, "user", "Who?"),
        ChatMessage(3, 5, "assistant", "", "interrupted"),
    ]
    conversation = Conversation(kept, head=3)
    exchange(conversation, "And?", "Two.")
    assert texts(conversation) == ["And?", "Two."]
    assert conversation.branches() == {conversation.path[0].id: (2, 2)}


def test_order_is_that_of_arrival_whatever_the_clock_says() -> None:
    times = iter([900.0, 800.0, 100.0, 50.0])
    conversation = Conversation(clock=lambda: next(times))
    question, _ = exchange(conversation, "Who?", "One.")
    conversation.answer()
    conversation.say([("plain", "Two.")])
    second = conversation.settle("done").id
    assert conversation.branches() == {second: (2, 2)}
    assert conversation.path[0].id == question


def test_a_kept_chat_is_taken_up_where_the_person_was() -> None:
    kept = [
        ChatMessage(7, None, "user", "Who?"),
        ChatMessage(2, 7, "assistant", "One."),
        ChatMessage(9, 7, "assistant", "Two."),
    ]
    conversation = Conversation(kept, head=2)
    assert texts(conversation) == ["Who?", "One."]
    assert conversation.branches() == {2: (1, 2)}


def test_an_undo_of_an_earlier_time_can_be_taken_back_too() -> None:
    kept = [ChatMessage(7, None, "user", "Who?"), ChatMessage(2, 7, "assistant", "One.")]
    conversation = Conversation(kept, head=None)
    assert texts(conversation) == []
    assert conversation.redo()
    assert texts(conversation) == ["Who?", "One."]
    assert not conversation.redo()
