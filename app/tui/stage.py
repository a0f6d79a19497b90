"""What stands around the transcript, kept true; and the program's own words."""

from __future__ import annotations

from dataclasses import replace

from rich.text import Text

from app.desk.answering import Question
from app.desk.desk import Desk
from app.display import neutralise
from app.files.tray import told
from app.thread.events import Ready, Retuned, Snapshot
from app.tui.page import Page
from app.tui.prompt.prompt import Prompt
from app.tui.prompt.slip import Slip
from app.tui.speculation import verdict
from app.tui.speculation.panel import Insight, Panel
from app.tui.speculation.verdict import Banner
from app.tui.status import Facts, Sentence, State, StatusLine
from app.tui.terminal.terminal import TerminalApp
from app.tui.transcript import origins
from app.tui.transcript.transcript import Notice, Transcript
from mlx_spec.errors import SpecError

PANEL_FROM = 120  # columns from which the panel shows by itself
PANEL_LEAST = 60  # columns that leave both it and the chat room enough to be read
WAITS = "◌ Your prompt waits until the model is loaded. Esc takes it back."
BRIEF = 100  # characters that fit a hint; what is longer goes into the transcript


class Stage:
    """The widgets of the chat screen, and what they show.

    Attributes:
        desk: the open chat.
        page: what the transcript shows of it.
        facts: what the status line shows.
    """

    def __init__(self, app: TerminalApp, desk: Desk) -> None:
        self._app = app
        self.desk = desk
        self.transcript = Transcript()
        self.panel = Panel()
        self.banner = Banner()
        self.slip = Slip()
        self.prompt = Prompt()
        self.line = StatusLine()
        self.sentence = Sentence()
        self.page = Page(self.transcript)
        self.facts = Facts()
        self._doing = "Loading the model."
        self._width = 0
        self._panel: bool | None = None  # as the width has it, until the person says

    # The chat

    def show_desk(self) -> None:
        """Bring the screen to what the desk is at."""
        self.page.show(self.desk.conversation)
        self._show_slip()
        if self.page.answer is None:
            return
        if not self.desk.loaded:
            self.page.answer.note(WAITS)
        elif not self.facts.state.busy:
            self.page.answer.note("")
            self._read()

    def visit(self, message_id: int) -> None:
        """Show a message of the chat, and make it the current one."""
        if message_id not in {message.id for message in self.desk.conversation.path}:
            self.desk.visit(message_id)
            self.show_desk()
        found = (entry for entry in self.transcript.messages if entry.message_id == message_id)
        self.transcript.choose(next(found, None))

    def give_back(self, *questions: Question | None) -> None:
        """Put questions back into the prompt, above what was typed since."""
        for question in reversed(questions):
            if question is not None:
                self.prompt.give_back(question.text)
                self.desk.tray.files[:0] = question.files

    def stop(self) -> None:
        """End the answer under way."""
        if self.page.answer is not None:
            # A long prompt's forward pass may take seconds yet.
            self.page.answer.note("■ stopping")
        self.give_back(self.desk.stop())

    def edit(self, question_id: int, text: str) -> None:
        """What is sent next is this question in other words."""
        self.desk.editing = question_id
        self.prompt.set_aside()
        self.prompt.write(text)
        self._show_slip()

    def leave_edit(self) -> bool:
        """What is sent next is a new question; False if it was anyway."""
        was_editing, self.desk.editing = self.desk.editing is not None, None
        if was_editing:
            self.prompt.set_aside()
            self._show_slip()
        return was_editing

    def _show_slip(self) -> None:
        waiting = [f"◌ waits: {_line(question.text)}" for question in self.desk.waiting]
        files = [f"+ {told(file)}" for file in self.desk.tray.files]
        editing = (
            ["✎ Enter asks this anew, as a branch. Esc leaves it."] if self.desk.editing is not None else []
        )
        self.slip.items = (*waiting, *files, *editing)

    # Words

    def hint(self, text: str, timeout: float = 4) -> None:
        """Say something that passes."""
        self._app.hint(text, timeout)

    def tell(self, sentence: str) -> None:
        """Say what came of a command; what is long stays."""
        if self.banner.said is not None and self.banner.said[0].sentence in sentence:
            self.banner.shorten()  # it need not be said twice
        if len(sentence) > BRIEF or "\n" in sentence:
            self.transcript.notify_reader(Notice("·", sentence))
        elif sentence:
            self.hint(sentence)

    def refuse(self, error: SpecError) -> None:
        """Say why something was not done."""
        self.hint(f"{error.message} {error.next_step}".strip())

    def call_back(self, seconds: float) -> None:
        """Tell a person who looks elsewhere that an answer is there."""
        if self.desk.worker.settings.notify:
            self._app.call_back(seconds, "specchat: the answer is there")

    def warn(self, *sentences: str) -> None:
        """Say what the person must see."""
        for sentence in sentences:
            self.transcript.notify_reader(Notice("!", sentence))

    def say(self, sentence: str) -> None:
        """Say what is going on, below the status."""
        self._doing = neutralise(sentence)
        self.show_status()

    # The status

    def change(self, state: State, snapshot: Snapshot | None = None) -> None:
        """Something else goes on, or has other numbers."""
        if self.facts.state.busy and not state.busy:
            self.banner.shorten()  # one answer is time enough to read it
        if snapshot is not None:
            self.facts = replace(self.facts, snapshot=snapshot)
            self._doing = neutralise(verdict.quiet(snapshot.verdict))
        self.facts = replace(self.facts, state=state)
        self.show_status()

    def introduce(self, event: Ready | Retuned, model: str) -> None:
        """Show who answers from now on."""
        self.prompt.entitle(model, event.draft)
        self.warn(*event.warnings)

    def _read(self) -> None:
        now = self.facts.snapshot
        self.facts = replace(self.facts, read=None)
        self.change(State.READING, now and now.at_start())

    def show_status(self) -> None:
        """Draw the status anew."""
        self.line.facts = self.facts
        self.show_insight()
        self.sentence.text = origins.legend() if self.page.origins else Text(self._doing)

    # The panel

    def turn_panel(self) -> None:
        """Show or hide the side panel.

        Raises:
            SpecError: there is no room for it.
        """
        if self._width < PANEL_LEAST:
            raise SpecError(
                f"The panel needs {PANEL_LEAST} columns.",
                "Make the terminal wider, or read /why and /timeline.",
            )
        self._panel = not self.panel.display
        self.show_insight()

    def fit(self, width: int) -> None:
        """The terminal has another width."""
        self._width = width
        self.show_insight()

    def show_insight(self) -> None:
        """Draw panel and banner anew."""
        now = self.facts.snapshot
        wanted = self._width >= PANEL_FROM if self._panel is None else self._panel
        self.panel.display = wanted and self._width >= PANEL_LEAST
        if now is not None:
            self.banner.show(now.verdict)
            self.panel.show(Insight(now, self.desk.reports.timeline))


def _line(text: str) -> str:
    return " ".join(text.split())
