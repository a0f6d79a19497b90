"""The transcript: questions, answers and notices. It follows its end while the reader is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.style import Style
from rich.text import Text
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from app.chats.records import ChatMessage
from app.display import neutralise
from app.tui import palette
from app.tui.answer import Answer
from mlx_spec.events import Round

NOTES = {
    "stopped": "■ stopped",
    "cut": "■ cut at the length limit; --max-tokens raises it",
    "interrupted": "■ interrupted: the program ended while this was written",
    "failed": "■ ended by an error",
}


class Question(Static):
    """What the user asked."""

    DEFAULT_CSS = """
    Question {
        max-width: 112;
        margin: 0 2 1 2;
        padding: 0 1;
        border-left: outer $primary;
        background: $surface;
    }
    """

    def __init__(self, text: str) -> None:
        super().__init__(Content(neutralise(text)), markup=False)


class Notice(Static):
    """A word from the program itself: a warning, or a failure with its next step."""

    DEFAULT_CSS = """
    Notice { margin: 0 2 1 2; }
    """

    def __init__(self, symbol: str, message: str, next_step: str = "") -> None:
        head = Style(color=palette.BAD if symbol == "▲" else palette.WARM, bold=True)
        text = Text.assemble((f"{symbol} ", head), neutralise(message))
        if next_step:
            text.append(f"\n  {neutralise(next_step)}", palette.MUTED)
        super().__init__(text, markup=False)


class Welcome(Static):
    """What an empty chat shows."""

    DEFAULT_CSS = """
    Welcome { margin: 1 2; color: $text-muted; }
    """

    def __init__(self) -> None:
        name = Style(color=palette.ACCENT, bold=True)
        super().__init__(
            Text.assemble(("specchat", name), "\nA draft proposes, the model decides."),
            markup=False,
        )


def _told(message: ChatMessage) -> Answer:
    answer = Answer()
    if message.pieces:
        answer.add([Round(pieces=list(message.pieces))])
    if message.state != "streaming":
        answer.finish(NOTES.get(message.state, ""))
    return answer


class Transcript(VerticalScroll):
    """Holds the chat. The prompt keeps the keyboard."""

    DEFAULT_CSS = """
    Transcript {
        height: 1fr;
        padding: 1 0 0 0;
        scrollbar-size-vertical: 1;
        scrollbar-color: $panel;
        scrollbar-background: $background;
        scrollbar-background-hover: $background;
        scrollbar-background-active: $background;
    }
    """

    can_focus = False

    def on_mount(self) -> None:
        """Hold on to the end. Textual lets go when the reader scrolls up, and holds on again at the end."""
        self.mount(Welcome())
        self.anchor()

    def ask(self, question: str, *, show_origins: bool, show_thought: bool) -> Answer:
        """Add a question and an empty answer, and go to the end."""
        self.query(Welcome).remove()
        answer = Answer(show_origins=show_origins, show_thought=show_thought)
        self.mount(Question(question), answer)
        self.anchor()
        return answer

    def open(self, path: Sequence[ChatMessage], branches: Mapping[int, tuple[int, int]]) -> None:
        """Show other messages. Those with siblings are in `branches`: which of how many they are."""
        self.query("Question, Answer").remove()
        for message in path:
            self.mount(Question(message.text) if message.role == "user" else _told(message))
        self.anchor()

    @property
    def last_answer(self) -> Answer:
        """The widget of the latest answer."""
        return self.query(Answer).last()

    def turn(self, pages: int) -> None:
        """Scroll by pages, with one row in common."""
        # Without this check a short chat would let go of its end and never hold on again.
        if self.max_scroll_y > 0:
            self.scroll_relative(y=pages * max(self.size.height - 1, 1), animate=False)

    def notify_reader(self, notice: Notice, before: Answer | None = None) -> None:
        """Add a notice at the end, or before an answer."""
        self.mount(notice, before=before)

    def show_origins(self, shown: bool) -> None:
        """Show or hide token origins everywhere."""
        for answer in self.query(Answer):
            answer.show_origins = shown

    def show_thoughts(self, shown: bool) -> None:
        """Unfold or fold the thinking everywhere."""
        for answer in self.query(Answer):
            answer.show_thought = shown
