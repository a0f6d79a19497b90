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

PANEL_FROM = 120  # columns
WAITS = "◌ Your prompt waits until the model is loaded. Esc takes it back."
BRIEF = 100  # characters that fit a hint; what is longer goes into the transcript


class Stage:
    """The widgets of the chat screen, and what they show.

    Attributes:
        desk: the open chat.
        page: what the transcript shows of it.
        facts: what the status line shows.
        editing: id of the question that is written anew, or None.
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
        self.editing: int | None = None
        self._doing = "Loading the model."
        self._wide = False
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

    def give_back(self, *questions: Question | None) -> None:
        """Put questions back into the prompt, above what was typed since."""
        for question in reversed(questions):
            if question is not None:
                self.prompt.give_back(question.text)
                self.desk.tray.files[:0] = question.files

    def edit(self, question_id: int, text: str) -> None:
        """What is sent next is this question in other words."""
        self.editing = question_id
        self.prompt.write(text)
        self._show_slip()

    def leave_edit(self) -> bool:
        """What is sent next is a new question; False if it was anyway."""
        was_editing, self.editing = self.editing is not None, None
        if was_editing:
            self.prompt.clear()
            self._show_slip()
        return was_editing

    def _show_slip(self) -> None:
        waiting = [f"◌ waits: {_line(question.text)}" for question in self.desk.waiting]
        files = [f"+ {told(file)}" for file in self.desk.tray.files]
        editing = ["✎ Enter asks this anew, as a branch. Esc leaves it."] if self.editing is not None else []
        self.slip.items = (*waiting, *files, *editing)

    # Words

    def hint(self, text: str, timeout: float = 4) -> None:
        """Say something that passes."""
        self._app.notify(text, timeout=timeout, markup=False)

    def tell(self, sentence: str) -> None:
        """Say what came of a command; what is long stays."""
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
        """Show or hide the side panel, whatever the width."""
        self._panel = not self.panel.display
        self.show_insight()

    def fit(self, width: int) -> None:
        """The terminal has another width."""
        self._wide = width >= PANEL_FROM
        self.show_insight()

    def show_insight(self) -> None:
        """Draw panel and banner anew."""
        now = self.facts.snapshot
        self.panel.display = self._wide if self._panel is None else self._panel
        if now is not None:
            self.banner.verdict = now.verdict
            self.panel.insight = Insight(now, self.desk.reports.timeline, self.desk.reports.timeline.rounds)


def _line(text: str) -> str:
    return " ".join(text.split())
