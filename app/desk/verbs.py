"""What commands do at a desk, on any screen: each takes what was written after it and returns a sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from app.desk import chat_verbs
from app.desk.desk import Desk
from app.errors import UsageError
from app.files.names import unquoted
from app.files.tray import told, too_long
from app.speculation.origins import kind, shares
from app.speculation.rounds import words as in_words
from app.speculation.timeline import words
from app.speculation.why import why
from mlx_spec.errors import SpecError

ROUNDS = 10  # that are told at once: each takes some lines
Verb = Callable[[Desk, str], str]


def _regenerate(desk: Desk, _: str) -> str:
    desk.regenerate()
    if desk.worker.settings.temp == 0:
        return "At temperature 0 the answer is the same again."
    return ""


def _branch(desk: Desk, way: str) -> str:
    """From the latest message of the path that has siblings; around, where no way is given."""
    branches = desk.conversation.branches()
    if not branches:
        raise UsageError("There is one answer only.", "/regenerate makes another, /edit asks otherwise.")
    latest = [message.id for message in desk.conversation.path if message.id in branches][-1]
    number, count = branches[latest]
    delta = {"next": 1, "previous": -1}.get(way, 1 if number < count else 1 - count)
    desk.step(latest, delta)
    return f"{number + delta} of {count}."


def _undo(desk: Desk, _: str) -> str:
    return f"Took back {_quoted(desk.undo().text)}. /redo brings it again."


def _redo(desk: Desk, _: str) -> str:
    desk.redo()
    return ""


def _continue(desk: Desk, _: str) -> str:
    desk.go_on()
    return ""


def _drop(desk: Desk, _: str) -> str:
    desk.context_full = "stop" if desk.context_full == "drop" else "drop"
    return {
        "drop": "When the context is full, the oldest turns now go. Enter sends.",
        "stop": "When the context is full, the prompt now waits for you.",
    }[desk.context_full]


def _attach(desk: Desk, path: str) -> str:
    file = desk.tray.put(unquoted(path))
    said = f"Goes with your next question: {told(file)}."
    return f"{said} {too_long(desk.tray.files, desk.reports.context_limit)}".rstrip()


def _detach(desk: Desk, path: str) -> str:
    return f"Left out again: {', '.join(map(told, desk.tray.remove(unquoted(path))))}."


def _files(desk: Desk, _: str) -> str:
    waiting = [f"{told(file)}, for the next question" for file in desk.tray.files]
    lines = [*map(told, desk.conversation.files()), *waiting]
    if not lines:
        raise UsageError("There are no files in this chat.", "/attach PATH puts one into the next question.")
    return "\n".join(lines)


def _spec(desk: Desk, on: str) -> str:
    if not on:
        return f"Speculation is {'off' if desk.worker.settings.k == 0 else 'on'}: K {desk.worker.settings.k}."
    desk.worker.retune(speculation=on == "on")
    return ""


def _k(desk: Desk, k: str) -> str:
    if not k:
        return f"K is {desk.worker.settings.k}."
    desk.worker.retune(k=k)
    return ""


def _draft(desk: Desk, source: str) -> str:
    if not source:
        return f"The draft source is {desk.reports.draft or desk.worker.settings.draft}."
    desk.worker.retune(draft=source)
    return ""


def _quoted(text: str, most: int = 40) -> str:
    """The first line of a text in quotes, cut."""
    line = text.strip().partition("\n")[0]
    return f"“{line[:most].rstrip()}…”" if len(line) > most or line != text.strip() else f"“{line}”"


def _why(desk: Desk, _: str) -> str:
    now = desk.reports.snapshot
    return why(now) if now else "Nothing is known of speculation yet: the model is being loaded."


def _model(desk: Desk, ref: str) -> str:
    settings = desk.worker.settings
    if not ref:
        return f"The model is {desk.reports.model or settings.model}, the draft source {settings.draft}."
    return desk.switch(ref, "auto")


def _timeline(desk: Desk, _: str) -> str:
    return "\n".join(words(desk.reports.timeline))


def _tokens(desk: Desk, _: str) -> str:
    last = desk.conversation.last("assistant")
    if last is None:
        raise SpecError("There is no answer yet.", "Ask something first.")
    return shares(Counter(kind(origin) for origin, _ in last.pieces))


def _rounds(desk: Desk, _: str) -> str:
    """The latest rounds in words, the oldest of them first."""
    entries = list(desk.reports.rounds.entries)
    if not entries:
        raise SpecError("No rounds yet.", "They come with the next answer.")
    shown = [line for entry in entries[-ROUNDS:] for line in in_words(entry)]
    return "\n".join(shown)


VERBS: dict[str, Verb] = {
    "chats": chat_verbs.chats,
    "new": chat_verbs.new,
    "open": chat_verbs.open_chat,
    "search": chat_verbs.search,
    "rename": chat_verbs.rename,
    "pin": chat_verbs.pin,
    "delete": chat_verbs.delete,
    "undelete": chat_verbs.undelete,
    "export": chat_verbs.export_open,
    "import": chat_verbs.import_chat,
    "backup": chat_verbs.backup,
    "regenerate": _regenerate,
    "branch": _branch,
    "undo": _undo,
    "redo": _redo,
    "continue": _continue,
    "drop": _drop,
    "attach": _attach,
    "detach": _detach,
    "files": _files,
    "spec": _spec,
    "k": _k,
    "draft": _draft,
    "why": _why,
    "tokens": _tokens,
    "rounds": _rounds,
    "timeline": _timeline,
    "model": _model,
}


def question_number(desk: Desk, number: str) -> int:
    """The id of question N of the path, counted from 1; of the last one if `number` is empty.

    Raises:
        UsageError: there is none.
    """
    questions = [message.id for message in desk.conversation.path if message.role == "user"]
    if not questions:
        raise UsageError("There is no question yet.", "Ask one first.")
    if not number:
        return questions[-1]
    if not number.isdecimal() or not 1 <= int(number) <= len(questions):
        raise UsageError(f"There is no question {number}.", f"They count from 1 to {len(questions)}.")
    return questions[int(number) - 1]
