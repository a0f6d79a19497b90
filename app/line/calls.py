"""Commands in a chat of lines. What is told in the same words everywhere is `app.desk.verbs`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from app.desk import clipboard
from app.desk.commands import COMMANDS, GROUPS, Call
from app.desk.desk import Desk
from app.desk.handover import bench
from app.desk.verbs import VERBS, question_number
from app.line import models
from app.line.hearing import Hearing
from app.line.voice import Voice
from app.thinking import Markers, Split, split
from mlx_spec.errors import SpecError
from models.stock import Stock

HELP = (
    "A backslash at the end of a line continues it. A line of three quotes opens a message of several "
    "lines, another closes it.",
    "Two slashes at the start send one. @ and a file's name attach the file.",
    "Ctrl+C stops an answer and keeps what it said; twice where nothing runs, it quits. So does Ctrl+D.",
)


class Calls:
    """Runs commands.

    Attributes:
        quitting: the person wants to leave.
    """

    def __init__(self, desk: Desk, voice: Voice, hearing: Hearing) -> None:
        self._desk = desk
        self._voice = voice
        self._hearing = hearing
        self.quitting = False
        self._ways: dict[str, Callable[[str], str]] = {
            "edit": self._edit,
            "stop": self._stop,
            "copy": self._copy,
            "thinking": self._thinking,
            "model": self._model,
            "bench": self._bench,
            "help": self._help,
            "quit": self._quit,
        }

    def run(self, call: Call) -> str:
        """Do what is called for; returns what came of it.

        Raises:
            SpecError: it cannot be done, or not here.
        """
        name = call.command.name
        if call.command.screen:
            raise SpecError(f"/{name} needs the full screen.", "Start specchat without --plain to have it.")
        if way := self._ways.get(name):
            return way(call.argument)
        return VERBS[name](self._desk, call.argument)

    def _edit(self, number: str) -> str:
        self._desk.editing = question = question_number(self._desk, number)
        asked = self._desk.conversation.message(question).text
        return f"The question was: {asked}\nWrite it anew. An empty line leaves it as it is."

    def _stop(self, _: str) -> str:
        raise SpecError("No answer runs.", "While one does, Ctrl+C stops it.")

    def _copy(self, what: str) -> str:
        text = clipboard.pick(what, self._last().text)
        return clipboard.copy(text, self._send, os.environ)

    def _send(self, text: str) -> None:
        if not self._voice.out.isatty() or os.environ.get("TERM") == "dumb":
            raise SpecError("This terminal has no clipboard.", "/export writes the chat to a file.")
        self._voice.out.write(clipboard.osc_52(text))
        self._voice.out.flush()

    def _thinking(self, _: str) -> str:
        self._hearing.thoughts = not self._hearing.thoughts
        if not self._hearing.thoughts:
            return "Thinking is not read out any more."
        thought = self._last().thought_text if self._desk.conversation.last("assistant") else ""
        said = "Thinking is read out from now on."
        return f"{said} Before the last answer:\n{thought}" if thought else said

    def _last(self) -> Split:
        answer = self._desk.conversation.last("assistant")
        if answer is None:
            raise SpecError("There is no answer yet.", "Ask something first.")
        return split(answer.text, Markers.kept(answer.stats))

    def _model(self, ref: str) -> str:
        if ref:
            return VERBS["model"](self._desk, ref)
        settings = self._desk.worker.settings
        return "\n".join(models.listed(Stock(lambda: [settings.model]), settings))

    def _bench(self, _: str) -> str:
        """Another program has the machine until it ends; Ctrl+C is its own."""
        to = bench(self._desk.worker.settings, self._desk.reports.target_bytes)
        self._desk.let_go()
        try:
            self._hearing.take_all(self._desk.worker.drain())
            self._voice.say(to.sentence)
            self._voice.tell(f"$ {to.command}")
            return to.run()
        finally:
            self._desk.employ()

    def _help(self, _: str) -> str:
        return "\n".join([*_table(), *HELP])

    def _quit(self, _: str) -> str:
        self.quitting = True
        return ""


def _table() -> Iterator[str]:
    for group, title in GROUPS.items():
        yield f"{title}:"
        yield from (
            f"{command.usage}: {command.summary}."
            for command in COMMANDS
            if command.group == group and not command.screen
        )
