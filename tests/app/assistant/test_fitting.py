"""A conversation longer than its context: the oldest whole turns go, and the start stays put for a while."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from app.assistant.fitting import fit
from app.assistant.template import Message


def render(messages: Sequence[Message]) -> list[int]:
    """One token a character, and two around each message."""
    return [ord(c) for message in messages for c in f"<{message.content}>"]


def turns(count: int, length: int = 8) -> list[Message]:
    """Turns of 2 * (length + 2) tokens, and a question of as many characters at the end."""
    said = [
        Message(role, f"{role[0]}{i}".ljust(length)) for i in range(count) for role in ("user", "assistant")
    ]
    return [*said, Message("user", "q".ljust(length))]


def test_what_fits_is_left_alone() -> None:
    messages = turns(4)
    fitted = fit(messages, render, limit=100, answer=10)
    assert (fitted.tokens, fitted.left_out) == (render(messages), 0)


def test_the_oldest_whole_turns_go_and_room_for_the_answer_is_made() -> None:
    messages = turns(9)  # 190 tokens
    fitted = fit(messages, render, limit=100, answer=1000)
    assert fitted.left_out % 2 == 0
    assert fitted.tokens == render(messages[fitted.left_out :])
    assert len(fitted.tokens) <= 75


def test_the_last_question_is_never_cut() -> None:
    messages = [*turns(2)[:-1], Message("user", "x" * 500)]
    fitted = fit(messages, render, limit=100, answer=10)
    assert (fitted.tokens, fitted.left_out) == (render(messages[-1:]), 4)
    assert fit(messages[-1:], render, limit=100, answer=10).left_out == 0


def test_what_comes_before_the_first_question_stays() -> None:
    messages = [Message("system", "Be brief."), *turns(9)]
    fitted = fit(messages, render, limit=100, answer=10)
    assert fitted.tokens == render([messages[0], *messages[1 + fitted.left_out :]])
    assert fitted.left_out > 0


def test_the_prompt_starts_alike_over_several_turns() -> None:
    """Or every turn would read the whole prompt anew."""
    left_out = [fit(turns(n), render, limit=400, answer=50).left_out for n in range(60)]
    assert left_out == sorted(left_out)
    changes = sum(a != b for a, b in pairwise(left_out))
    assert 0 < changes <= 60 * 20 / 100 + 1


def test_the_template_is_rendered_few_times() -> None:
    calls = []

    def counting(messages: Sequence[Message]) -> list[int]:
        calls.append(len(messages))
        return render(messages)

    fit(turns(1000), counting, limit=400, answer=50)
    assert len(calls) < 30
