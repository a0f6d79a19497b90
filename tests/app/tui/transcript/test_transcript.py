"""The transcript by itself: long chats, where the reader is, branches, steps and copies."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from textual.app import App, ComposeResult
from textual.events import MouseScrollDown
from textual.pilot import Pilot
from textual.selection import Selection
from textual.widget import Widget

from app.chats.records import ChatMessage, MessageState
from app.files.records import Attachment
from app.tui.transcript.transcript import Answer, Notice, Transcript
from mlx_spec.events import Round

ANSWER = "Answer {i} begins.\n\n```python\nx = {i}\n```\n\n" + "And it goes on for a while. " * 12


class Screen(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.steps: list[Transcript.Step] = []

    def compose(self) -> ComposeResult:
        yield Transcript()

    def on_transcript_step(self, message: Transcript.Step) -> None:
        self.steps.append(message)


class Reader:
    """A person who looks at a transcript."""

    def __init__(self, app: Screen, pilot: Pilot[None]) -> None:
        self.app, self.pilot = app, pilot
        self.transcript = app.query_one(Transcript)

    @property
    def lines(self) -> list[str]:
        height = self.transcript.size.height
        return [self.transcript.render_line(y).text.rstrip() for y in range(height)]

    async def click(self, text: str) -> None:
        y, line = next((y, line) for y, line in enumerate(self.lines) if text in line)
        await self.pilot.click(Transcript, offset=(line.index(text), y))


@asynccontextmanager
async def reading(
    path: Sequence[ChatMessage] = (), size: tuple[int, int] = (60, 20), **rest: object
) -> AsyncIterator[Reader]:
    app = Screen()
    async with app.run_test(size=size) as pilot:
        reader = Reader(app, pilot)
        if path:
            reader.transcript.open(path, **rest)  # type: ignore[arg-type]
        await pilot.pause()
        yield reader


def chat(messages: int) -> list[ChatMessage]:
    """Questions and answers in turn; ids count from 1."""
    return [
        ChatMessage(i, i - 1 or None, "user", f"Question {i}?")
        if i % 2
        else ChatMessage(i, i - 1, "assistant", ANSWER.format(i=i))
        for i in range(1, messages + 1)
    ]


def said(answer: Answer, text: str) -> None:
    answer.add([Round([0], ["plain"], [("plain", text)])])


def laid_out(transcript: Transcript) -> int:
    return sum(answer._page is not None for answer in transcript.answers)


async def test_of_a_long_chat_only_what_is_near_the_view_is_laid_out() -> None:
    async with reading(chat(1000)) as reader:
        assert reader.lines[-1].strip().endswith("goes on for a while.")
        assert laid_out(reader.transcript) < 10
        for _ in range(60):
            reader.transcript.turn(-1)
        assert laid_out(reader.transcript) < 60


async def test_scrolling_back_meets_every_row_once_though_heights_were_guessed() -> None:
    async with reading(chat(60)) as reader:
        met: list[str] = []
        while reader.transcript.scroll_y > 0:
            before = reader.lines
            reader.transcript.scroll_relative(y=-7, animate=False)
            after = reader.lines
            moved = next(n for n in range(8) if after[n:-1] == before[: len(after) - n - 1])
            met = after[:moved] + met
        assert [line.split()[1] for line in met if "Question" in line][:3] == [
            "Question",
            "Question",
            "Question",
        ]
        assert " ".join(met).count("begins.") >= 25


@pytest.mark.parametrize("size", [(90, 30), (30, 20), (20, 8)])
async def test_a_resize_shows_the_same_message_and_no_more_is_laid_out(size: tuple[int, int]) -> None:
    async with reading(chat(400)) as reader:
        for _ in range(20):
            reader.transcript.turn(-1)
        entry = reader.transcript._window.under(0)
        await reader.pilot.resize_terminal(*size)
        await reader.pilot.pause()
        assert reader.transcript._window.under(0) is entry
        await reader.pilot.resize_terminal(60, 20)
        await reader.pilot.pause()
        assert reader.transcript._window.under(0) is entry
        assert laid_out(reader.transcript) < 70


async def test_another_size_of_the_terminal_stays_at_the_end() -> None:
    async with reading(chat(40)) as reader:
        for size in ((40, 8), (60, 20), (20, 8), (80, 24)):
            await reader.pilot.resize_terminal(*size)
            await reader.pilot.pause()
            assert reader.transcript.following
            assert reader.transcript.scroll_y == reader.transcript.max_scroll_y


async def test_a_reader_is_not_moved_by_what_comes_and_a_chip_counts_it() -> None:
    async with reading(chat(20)) as reader:
        answer = reader.transcript.ask("And?")
        said(answer, "x\n" * 30)
        reader.transcript.turn(-1)
        seen = reader.lines[:-1]
        assert reader.lines[-1].endswith("▼ end")
        said(answer, "y\n" * 12)
        await reader.pilot.pause()
        assert reader.lines[:-1] == seen
        assert reader.lines[-1].endswith("▼ 12 new lines")
        await reader.click("new lines")
        assert reader.lines[-1].strip() == "y"
        said(answer, "z")
        assert reader.lines[-1].strip() == "z"


async def test_what_is_unfolded_above_or_said_before_does_not_move_the_reader() -> None:
    async with reading(chat(20)) as reader:
        answer = reader.transcript.answers[0]
        reader.transcript.turn(-2)
        seen = reader.lines
        said(answer, "\n\nmore\n\nand more")
        reader.transcript.notify_reader(Notice("!", "A word"), before=answer)
        assert reader.lines == seen


async def test_reading_on_to_the_end_follows_it_again() -> None:
    async with reading(chat(20)) as reader:
        answer = reader.transcript.ask("And?")
        reader.transcript.turn(-1)
        assert not reader.transcript.following
        reader.transcript.turn(1)
        assert reader.transcript.following
        said(answer, "new")
        assert reader.lines[-1].strip() == "new"


async def test_a_message_with_siblings_says_which_it_is_and_its_arrows_step() -> None:
    async with reading(chat(4), branches={3: (2, 3), 4: (1, 2), 1: (1, 1)}) as reader:
        text = "\n".join(reader.lines)
        assert "‹ 2 of 3 ›" in text
        assert "‹ 1 of 2 ›" in text
        assert "1 of 1" not in text
        await reader.click("‹ 2 of 3")  # the arrow itself is clicked
        await reader.click("›")
        await reader.click("‹ 1 of 2")  # there is none before
        await reader.pilot.pause()
        assert [(step.message_id, step.delta) for step in reader.app.steps] == [(3, -1), (3, 1)]


async def test_another_branch_keeps_what_both_have() -> None:
    async with reading(chat(4)) as reader:
        first = reader.transcript.messages[:3]
        other = [*chat(3), ChatMessage(9, 3, "assistant", "Another answer.")]
        reader.transcript.open(other, {9: (2, 2), 4: (1, 2)})
        assert reader.transcript.messages[:3] == first
        assert "Another answer." in "".join(reader.lines)


async def test_an_answer_that_was_asked_for_is_known_once_it_has_its_id() -> None:
    async with reading() as reader:
        answer = reader.transcript.ask("Question 1?")
        said(answer, "x")
        question = reader.transcript.messages[0]
        question.message_id, answer.message_id = 1, 2
        reader.transcript.open(chat(2), {2: (2, 2)})
        assert reader.transcript.messages == [question, answer]


async def test_stepping_shows_each_message_with_a_mark_and_leaves_after_the_last() -> None:
    async with reading(chat(6)) as reader:
        transcript = reader.transcript
        transcript.step(-1)
        assert transcript.current is transcript.messages[-1]
        for _ in range(9):
            transcript.step(-1)
        assert transcript.current is transcript.messages[0]
        assert reader.lines[1] == "▎ ▌ Question 1?"
        for _ in range(6):
            transcript.step(1)
        assert transcript.current is None
        assert transcript.following


async def test_a_click_makes_a_message_current_and_its_code_can_be_asked_for() -> None:
    async with reading(chat(2)) as reader:
        await reader.click("begins")
        current = reader.transcript.current
        assert isinstance(current, Answer)
        assert current.code_blocks() == ["x = 2"]
        assert current.text == ANSWER.format(i=2)


async def test_code_blocks_are_those_at_the_margin_and_in_lists_but_not_in_thoughts() -> None:
    text = "<think>\n```\nthought\n```\n</think>\n\n- a\n\n  ```sh\n  one\n  ```\n\n~~~\ntwo\n\n"
    async with reading([ChatMessage(1, None, "assistant", text)]) as reader:
        assert reader.transcript.answers[0].code_blocks() == ["one", "two\n"]
        assert any("▸ thought" in line for line in reader.lines)


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("interrupted", "■ interrupted: specchat ended while this was written"),
        ("stopped", "■ stopped"),
        ("cut", "■ cut at the length limit"),
        ("failed", "■ ended by an error"),
        ("streaming", "◌ another specchat is writing this"),
    ],
)
async def test_an_answer_that_did_not_end_by_itself_says_so(state: MessageState, words: str) -> None:
    async with reading([ChatMessage(1, None, "assistant", "Half", state)]) as reader:
        assert [line.strip() for line in reader.lines[:4]] == ["", "Half", "", words]


async def test_the_end_is_followed_through_every_size_of_the_terminal() -> None:
    text = "\n\n".join(f"paragraph {n} of some length" for n in range(60))
    async with reading([ChatMessage(1, None, "assistant", text)]) as reader:
        for size in ((20, 8), (60, 20), (4, 50), (60, 20), (1, 1), (60, 20), (60, 40), (60, 20)):
            await reader.pilot.resize_terminal(*size)
            await reader.pilot.pause()
            assert reader.transcript.following, size


async def test_a_question_names_its_files() -> None:
    file = Attachment("/home/me/notes.txt", "ab", 1234, "utf-8", "")
    async with reading([ChatMessage(1, None, "user", "Well?", attachments=(file,))]) as reader:
        assert "+ notes.txt (1 KB, 1 line, utf-8)" in reader.lines[2], "and not whose folder it was in"


async def test_origins_that_were_kept_show_again_and_others_are_said_to_be_unknown() -> None:
    pieces = (("draft:lookup", "alpha "), ("target", "beta"))
    path = [
        ChatMessage(1, None, "assistant", "alpha beta", pieces=pieces),
        ChatMessage(2, 1, "assistant", "gamma"),
    ]
    async with reading(path) as reader:
        reader.transcript.show_origins(True)
        text = "\n".join(reader.lines)
        assert "2 tokens: 1 drafted and accepted, 1 the target's own" in text
        assert "the origins of these tokens were not kept" in text
        assert reader.transcript.answers[0].pieces == pieces


async def test_an_answer_goes_on_where_it_ended() -> None:
    async with reading([ChatMessage(1, None, "assistant", "Half", "cut")]) as reader:
        answer = reader.transcript.answers[0]
        answer.go_on()
        said(answer, " and half.")
        answer.finish()
        assert answer.text == "Half and half."
        assert [line.strip() for line in reader.lines[:4]] == ["", "Half and half.", "", ""]


async def test_wide_code_is_moved_sideways_with_the_wheel_and_with_keys() -> None:
    code = "```\n" + "0123456789" * 8 + "\n```"
    async with reading([ChatMessage(1, None, "assistant", code)], size=(40, 10)) as reader:
        assert reader.lines[1].endswith(" ›")
        wheel = {"x": 5, "y": 1, "delta_x": 0, "delta_y": 0, "button": 0, "meta": False, "ctrl": False}
        reader.transcript.post_message(MouseScrollDown(reader.transcript, **wheel, shift=True))
        await reader.pilot.pause()
        assert reader.lines[1].startswith("  ‹ 456789")
        reader.transcript.reach(1000)
        assert reader.lines[1].rstrip().endswith("56789")
        reader.transcript.reach(-1000)
        assert reader.lines[1].startswith("    0123")


async def test_a_selection_over_messages_is_their_text() -> None:
    async with reading(chat(2)) as reader:
        whole = reader.transcript.get_selection(Selection(None, None))
        assert whole is not None
        assert whole[0].startswith("Question 1?\n\nAnswer 2 begins.\n\nx = 2\n\nAnd it")
        await reader.pilot.mouse_down(Transcript, offset=(13, 1))
        await reader.pilot.hover(Transcript, offset=(9, 3))
        await reader.pilot.mouse_up(Transcript, offset=(9, 3))
        assert reader.app.screen.get_selected_text() == "1?\n\nAnswer 2"


async def test_a_double_click_selects_the_message() -> None:
    async with reading(chat(2)) as reader:
        await reader.pilot.click(Transcript, offset=(9, 1), times=2)
        assert reader.app.screen.get_selected_text() == "Question 1?"


async def test_an_empty_transcript_says_what_to_do_first_and_a_notice_stands_below() -> None:
    async with reading() as reader:
        reader.transcript.notify_reader(Notice("!", "Mind [this]."))
        assert reader.lines[1:9] == [
            "  specchat",
            "  A draft proposes, the model decides.",
            "",
            "  /attach  a text file that your question is about",
            "  Ctrl+O   earlier chats",
            "  F1       help: commands and keys",
            "",
            "  ! Mind [this].",
        ]
        reader.transcript.ask("Q")
        assert "specchat" not in "".join(reader.lines)


def drawings(widget: Widget, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A list that grows whenever `widget` is rendered."""
    drawn: list[str] = []
    render = type(widget).render

    def counted(self: Widget) -> object:
        if self is widget:
            drawn.append("drawn")
        return render(self)

    monkeypatch.setattr(type(widget), "render", counted)
    return drawn


async def test_a_line_that_comes_does_not_draw_a_scrollbar_that_looks_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with reading(chat(120)) as reader:
        bar = reader.transcript.vertical_scrollbar
        answer = reader.transcript.begin()
        said(answer, "It begins.\n\n")
        await reader.pilot.pause()
        drawn, rows = drawings(bar, monkeypatch), bar.window_virtual_size
        for i in range(4):
            said(answer, f"Line {i}.\n\n")
            await reader.pilot.pause()
        assert bar.window_virtual_size > rows  # it knows, so that dragging it leads to the right place
        assert bar.position == reader.transcript.scroll_y
        assert not drawn


async def test_the_scrollbar_is_drawn_where_it_looks_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    async with reading(chat(4)) as reader:
        drawn = drawings(reader.transcript.vertical_scrollbar, monkeypatch)
        said(reader.transcript.begin(), "A line.\n\n" * 20)
        await reader.pilot.pause()
        assert drawn
