"""The whole program on the embedded model, in a terminal, as a person has it."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from tmux import Pane, needs_tmux, pane

from app.chats.records import ChatMessage
from app.chats.store import Store
from models import locations

pytestmark = [pytest.mark.slow, pytest.mark.real, needs_tmux]

TALE = "The keeper climbed the narrow stairs every evening to light the great lamp.\nThen he slept.\n"
LONG = "Count from 1 to 100."
SHORT = "What is the capital of France?"
Chat = Callable[..., AbstractContextManager[Pane]]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One person's home for all of it: the model is converted once, and what was measured is known."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("SPECCHAT_")]:
            patch.delenv(name)
        patch.setenv("SPECCHAT_HOME", str(tmp_path_factory.mktemp("home")))
        yield locations.data_dir()


@pytest.fixture
def chat(home: Path, tmp_path: Path) -> Chat:
    """Starts the program, and quits it at the end."""

    @contextmanager
    def start(*options: str) -> Iterator[Pane]:
        with pane(cwd=tmp_path) as terminal:
            terminal.run("-m", "app", *options)
            terminal.see("○ ready", within=180)
            yield terminal
            if terminal.program is not None:
                terminal.press("C-q")
            terminal.until(lambda _: terminal.program is None)

    return start


def kept() -> list[ChatMessage]:
    """The messages of the latest chat."""
    store = Store.open(locations.chats_file())
    latest = store.latest()
    messages = store.messages(latest.id) if latest else []
    store.close()
    return messages


def ended(count: int) -> bool:
    """The latest chat has so many messages, and none is being written."""
    return len(kept()) == count and kept()[-1].state in ("done", "cut")


def word(message: ChatMessage) -> str:
    """The first that it says."""
    return re.findall(r"\w+", message.text)[0]


def counted(text: str) -> int:
    """How far a count has come."""
    return max(map(int, re.findall(r"\b(\d+)(?=\W)", text)), default=0)


def answered(screen: str) -> str:
    """What stands below the question, above the prompt."""
    return screen.partition("╭")[0].partition(LONG)[2]


def test_an_answer_that_is_stopped_goes_on_where_it_was(chat: Chat) -> None:
    with chat("--temp", "0", "--max-tokens", "400") as person:
        person.ask(LONG)
        person.until(lambda screen: counted(answered(screen)) >= 3)
        person.press("Escape")
        person.until(lambda _: kept()[-1].state == "stopped")
        before = kept()[-1]
        person.ask("/continue")
        person.until(lambda screen: counted(answered(screen)) >= counted(before.text) + 3)
        person.press("Escape")
        person.until(lambda _: kept()[-1].state == "stopped")
        after = kept()[-1]
    assert after.id == before.id
    assert after.text.startswith(before.text)
    assert len(after.pieces) > len(before.pieces)


def test_another_answer_is_a_branch_and_both_stay(chat: Chat) -> None:
    with chat("--temp", "1", "--max-tokens", "10") as person:
        person.ask("Name an animal.")
        person.until(lambda _: ended(2))
        person.press("C-r")
        person.until(lambda _: ended(3))
        question, first, second = kept()
        person.ask("/branch previous")
        person.see("1 of 2", word(first))
        person.ask("/branch next")
        person.see("2 of 2", word(second))
    assert first.parent == second.parent == question.id


def test_what_is_copied_from_a_file_says_so_with_its_lines(chat: Chat, tmp_path: Path) -> None:
    (tmp_path / "tale.txt").write_text(TALE)
    with chat("--temp", "0", "--draft", "lookup", "--k", "4", "--max-tokens", "24") as person:
        person.ask("/attach tale.txt")
        person.see("+ tale.txt (")
        person.ask("Copy the first line of tale.txt.")
        person.see("copied from tale.txt, line", within=120)
        (span, *_) = kept()[-1].spans
        answer = kept()[-1].text
    assert answer[span.start : span.end] in "\n".join(TALE.splitlines()[span.first_line - 1 : span.last_line])


def test_a_program_that_is_killed_in_mid_answer_has_the_chat_next_time(chat: Chat) -> None:
    """Case c25, with the model."""
    options = ("--temp", "0", "--max-tokens", "400")
    with chat(*options) as person:
        person.ask(LONG)
        person.until(lambda screen: counted(answered(screen)) >= 3)
        person.until(lambda _: counted(kept()[-1].text) >= 2)
        assert person.program is not None
        os.kill(person.program, signal.SIGKILL)
    question, answer = kept()
    assert (question.text, answer.state) == (LONG, "interrupted")
    with chat("-c", *options) as person:
        person.see(LONG, "■ interrupted")
        person.ask("/continue")
        person.until(lambda screen: counted(answered(screen)) >= counted(answer.text) + 3)
        person.press("Escape")
        person.until(lambda _: kept()[-1].state == "stopped")
        assert kept()[-1].text.startswith(answer.text)


def test_a_k_that_is_chosen_is_used_and_its_outcome_is_told(chat: Chat) -> None:
    with chat("--temp", "0", "--draft", "self", "--max-tokens", "24") as person:
        person.ask("/k 4")
        person.see("K 4, draft self")
        person.ask(SHORT)
        person.see("○ ready", "Paris")
        person.ask("/why")
        person.see("K is 4", "In the latest answer 100% of the drafted tokens were accepted")
        person.ask("/spec off")
        person.see("∅ off")
        person.ask("And of Italy?")
        person.see("Rome", "○ ready")
        person.press("F2")
        person.see("undrafted")
    assert {origin for origin, _ in kept()[1].pieces} >= {"draft:self"}
    assert {origin for origin, _ in kept()[3].pieces} == {"plain"}


def test_a_question_asked_meanwhile_waits_its_turn(chat: Chat) -> None:
    with chat("--temp", "0", "--max-tokens", "12") as person:
        person.ask(SHORT)
        person.ask("And of Italy?")
        person.see("◌ waits: And of Italy?", within=20)
        person.see("Paris", "Rome", "○ ready", within=120)
        person.until(lambda screen: "◌ waits" not in screen)
    assert [message.role for message in kept()] == ["user", "assistant"] * 2
    assert [message.state for message in kept()][1::2] == ["done", "done"]
