"""Commands on the screen: what a slash, a key or the palette calls."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from app.desk import clipboard
from app.desk.chat_verbs import export
from app.desk.commands import BY_NAME, Call, Command
from app.desk.handover import bench
from app.desk.verbs import VERBS, question_number
from app.tui.away import hand_over
from mlx_spec.errors import SpecError

if TYPE_CHECKING:
    from app.tui.app import Chat
    from app.tui.sheets.chats import Place
    from app.tui.sheets.models import Pick

SEEN = ("new", "open", "branch")  # what came of them is on the screen


class Calls:
    """Runs commands. What needs the screen is here; the rest is `app.desk.verbs`.

    Other screens are imported when somebody opens one: the first frame waits for none of them.
    """

    def __init__(self, app: Chat) -> None:
        self._app = app
        self._stage = app.stage
        self._desk = app.desk
        self._ways: dict[str, Callable[[str], str]] = {
            "edit": self._edit,
            "stop": self._stop,
            "copy": self._copy,
            "chats": self._chats,
            "search": self._chats,
            "tokens": self._tokens,
            "rounds": self._rounds,
            "model": self._model,
            "bench": self._bench,
            "timeline": self._timeline,
            "help": self._help,
            "palette": self._palette,
            "theme": self._app.choose_theme,
            "panel": self._panel,
            "thinking": self._thinking,
            "quit": self._quit,
        }

    def run(self, call: Call) -> bool:
        """Do what is called for, and say what came of it; False if it was refused."""
        name = call.command.name
        self._app.clear_notifications()
        try:
            way = self._ways.get(name)
            sentence = way(call.argument) if way else VERBS[name](self._desk, call.argument)
        except SpecError as error:
            self._stage.refuse(error)
            return False
        self._stage.show_desk()
        if name not in SEEN:
            self._stage.tell(sentence)
        return True

    def _edit(self, number: str) -> str:
        question = question_number(self._desk, number)
        self._stage.edit(question, self._desk.conversation.message(question).text)
        return ""

    def _stop(self, _: str) -> str:
        if not self._desk.busy:
            raise SpecError("No answer runs.", "While one does, Esc stops it.")
        self._stage.stop()
        return ""

    def _copy(self, what: str) -> str:
        transcript = self._stage.transcript
        chosen = transcript.current or next(reversed(transcript.answers), None)
        if chosen is None or not chosen.said:
            raise SpecError("There is no answer to copy.", "Ask something first.")
        self._app.copy_to_clipboard(clipboard.pick(what, chosen.said))
        return ""

    def _chats(self, search: str) -> str:
        from app.tui.sheets.chats import Chats

        shelf = self._desk.shelf
        self._app.push_screen(Chats(shelf.reading, partial(export, shelf), search=search), self._go)
        return ""

    def _go(self, place: Place | None) -> None:
        """Open what was chosen in the list, where it was found; leave a chat that was deleted there."""
        if place is not None:
            opened = self.run(Call(BY_NAME["open"], place.chat.id))
            if opened and place.message_id is not None:
                self._stage.visit(place.message_id)
        elif not self._desk.busy and self._desk.shelf.deleted:
            self.run(Call(BY_NAME["new"]))

    def _model(self, ref: str) -> str:
        """What is here is loaded at once; what would have to be downloaded is shown first."""
        if ref and not self._app.stock.to_fetch(ref):
            return VERBS["model"](self._desk, ref)
        from app.tui.sheets.models import Models

        self._app.push_screen(Models(self._app.stock, self._desk.worker.settings, ref), self._pick)
        return ""

    def _pick(self, pick: Pick | None) -> None:
        """Load the pair that was chosen."""
        if pick is not None:
            try:
                self._stage.tell(self._desk.switch(pick.model, pick.draft))
            except SpecError as error:
                self._stage.refuse(error)

    def _bench(self, _: str) -> str:
        hand_over(self._app, bench(self._desk.worker.settings, self._desk.reports.target_bytes))
        return ""

    def _help(self, _: str) -> str:
        from app.tui.sheets.help import Help

        self._app.push_screen(Help(), self._choose)
        return ""

    def _palette(self, _: str) -> str:
        from app.tui.sheets.help import Palette

        self._app.push_screen(Palette(), self._choose)
        return ""

    def _choose(self, command: Command | None) -> None:
        """Run the command that was chosen, or let its argument be written."""
        if command is None:
            return
        if command.optional:
            self.run(Call(command))
        else:
            self._stage.prompt.set_aside()
            self._stage.prompt.write(f"/{command.name} ")

    def _rounds(self, _: str) -> str:
        """Of the answer that the person stepped to, else the latest."""
        from app.tui.speculation.rounds import Rounds

        log, chosen = self._desk.reports.rounds, self._stage.transcript.current
        asked = chosen.message_id if chosen is not None else None
        self._app.push_screen(Rounds(log, None if asked is None else log.first(asked)))
        return ""

    def _timeline(self, _: str) -> str:
        from app.tui.speculation.timeline import TimelineScreen

        self._app.push_screen(TimelineScreen(self._desk.reports.timeline))
        return ""

    def _tokens(self, _: str) -> str:
        self._stage.page.show_origins(not self._stage.page.origins)
        self._stage.show_status()
        return ""

    def _panel(self, _: str) -> str:
        self._stage.turn_panel()
        return ""

    def _thinking(self, _: str) -> str:
        self._stage.page.show_thoughts(not self._stage.page.thoughts)
        return ""

    def _quit(self, _: str) -> str:
        self._app.exit(0)
        return ""
