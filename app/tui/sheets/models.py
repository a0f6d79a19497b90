"""The models: those that are here, and the download of others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.errors import sentence
from app.settings.settings import Settings
from app.tui.sheets.asking import Asking
from app.tui.sheets.menu import Item
from app.tui.sheets.question import Answer, Question
from app.tui.sheets.sources import Sources
from mlx_spec.errors import SpecError
from models.amount import in_bytes, in_memory
from models.errors import ModelError
from models.installed import Installed
from models.offer import Offer
from models.prospect import Prospect
from models.pull import Pull
from models.reference import Reference
from models.stock import Stock

EVERY = 0.5  # seconds between two looks at a download


@dataclass(frozen=True)
class Pick:
    """What was chosen: a target and a draft source, as options name them."""

    model: str
    draft: str


@dataclass(frozen=True)
class Ask:
    """A repository that was typed, and is not here."""

    ref: str


class Models(Asking[Pick]):
    """Targets to choose from; a repository's name in the field asks the hub for it."""

    def __init__(self, stock: Stock, settings: Settings, typed: str = "") -> None:
        """Args:
        stock: the models.
        settings: of the pair that is loaded.
        typed: what is looked for at first.
        """
        super().__init__(
            "Models", "Find, or org/name to download", "Enter chooses, pauses, resumes · Esc closes", typed
        )
        self._stock = stock
        self._settings = settings
        self._models: list[Installed] | None = None
        self._seen = ""  # of the download, when it was last shown
        self._news = ""  # to say once the list is there

    def on_mount(self) -> None:
        """Look at what is here, and again whenever a download ends."""
        self.set_interval(EVERY, self._watch)
        self._reload()

    def _reload(self) -> None:
        self.ask(self._stock.installed, self._take)

    def _take(self, models: list[Installed]) -> None:
        self._models = models
        self.find(self.field.value)
        if self._news:
            self.say(self._news)
            self._news = ""

    # Rows

    def find(self, part: str) -> None:
        """Show what goes with `part`; the choice stays on its row."""
        before = _key(self.menu.choice)
        rows = self.rows(part)
        same = (at for at, row in enumerate(rows) if before and _key(row) == before)
        self.show(rows, next(same, 0))

    def rows(self, part: str) -> list[Item]:
        """The download, the models that are here, pairs to download, and what was typed."""
        wanted = part.strip().lower()
        pull = self._stock.pull
        coming = pull.refs if pull else ()  # a part of it is here: that is one row, not two
        here = [
            self._row(model)
            for model in self._models or ()
            if wanted in f"{model.name} {model.ref}".lower() and not (model.problem and model.ref in coming)
        ]
        offers = [self._offer(pair) for pair in self._missing() if wanted in pair.target.ref.lower()]
        rows = [*self._downloads()]
        if here:
            rows += [Item("On this machine"), *here]
        if offers:
            rows += [Item(f"Pairs for {in_memory(self._stock.memory)} of memory"), *offers]
        if (ref := self._typed_ref(part.strip())) is not None:
            rows.append(Item(f"Look up {ref}", "asks the hub how large it is", value=Ask(ref)))
        return rows

    def _downloads(self) -> list[Item]:
        pull = self._stock.pull
        if pull is None or pull.progress.state == "done":
            return []
        now = pull.progress
        return [Item(f"↓ {now.ref.rsplit('/', 1)[-1]}", now.words, value=pull)]

    def _row(self, model: Installed) -> Item:
        how = model.size.storage.name if model.size else ""
        detail = model.problem or " · ".join(filter(None, (how, model.family)))
        size = in_bytes(model.size.nbytes if model.size else model.part) if model.size or model.part else ""
        used = "in use  " if model.ref == self._settings.model else ""
        return Item(model.name, detail, f"{used}{size}", model)

    def _offer(self, pair: Offer) -> Item:
        size = in_bytes(sum(part.nbytes for part in (pair.target, pair.draft)))
        return Item(pair.target.name, f"with {pair.draft.name} as draft", f"{size} to download", pair)

    def _missing(self) -> list[Offer]:
        if self._models is None:
            return []
        here = {model.ref for model in self._models if not model.problem}
        return [pair for pair in self._stock.offers() if not here.issuperset(pair.refs)]

    def _typed_ref(self, text: str) -> str | None:
        try:
            reference = Reference.parse(text)
        except ModelError:
            return None
        here = {model.ref for model in self._models or () if not model.problem}
        return text if reference.kind == "hub" and text not in here else None

    def about(self, item: Item | None) -> str:
        """What the row has no room for."""
        match item.value if item else None:
            case Pull() as pull:
                now = pull.progress
                key = "Enter pauses it." if now.state in ("asking", "running") else "Enter resumes it."
                return " ".join(filter(None, (f"{now.ref}: {now.words}.", now.message, now.next_step, key)))
            case Installed() as model:
                needs = model.need.sentence(self._stock.memory) if model.need else ""
                return " ".join(filter(None, (f"{model.ref}.", model.problem or needs)))
            case Offer() as pair:
                return " ".join(pair.sentences(self._stock.memory))
            case Ask():
                return "Nothing is downloaded before you have seen what it needs."
        return "Looking at what is here." if self._models is None else "Nothing goes with that."

    # Choices

    def choose(self, item: Item) -> None:
        """A target leads to its draft sources, a pair to its download, a download pauses or goes on."""
        match item.value:
            case Pull() as pull:
                if pull.progress.state in ("asking", "running"):
                    pull.pause()
                else:
                    self._fetch(*pull.refs)
                self._watch()
            case Installed() as model if not model.problem:
                sheet = Sources(self._stock, model, self._models or [], self._settings)
                self.app.push_screen(sheet, lambda draft: self._picked(model, draft))
            case Installed(kind="hub") as model:  # what is damaged or not whole is fetched again
                self._look_up(model.ref, model.problem)
            case Installed() as model:
                self.app.push_screen(Question(model.name, [model.problem], [Answer("Back", False)]))
            case Offer() as pair:
                self._confirm(pair.target.name, pair.sentences(self._stock.memory), pair.refs)
            case Ask(ref=ref):
                self._look_up(ref)

    def _picked(self, model: Installed, draft: str | None) -> None:
        if draft is not None:
            self.dismiss(Pick(model.ref, draft))

    def _look_up(self, ref: str, problem: str = "") -> None:
        def plan(found: Prospect) -> None:
            if self.is_current:  # who presses Enter twice gets one answer
                self._confirm(ref, [*filter(None, [problem]), *self._stock.sentences(found)], (ref,))

        self.say(f"Asking the hub for {ref}.")
        self.ask(lambda: self._stock.prospect(ref), plan)

    def _confirm(self, title: str, sentences: Sequence[str], refs: tuple[str, ...]) -> None:
        answers = [Answer("Download", True), Answer("Not now", False)]
        self.app.push_screen(
            Question(title, sentences, answers), lambda wanted: self._fetch(*refs) if wanted else None
        )

    # Download

    def _fetch(self, *refs: str) -> None:
        try:
            self._stock.fetch(*refs)
        except SpecError as error:
            self.say(sentence(error))
            return
        self.field.value = ""
        self._watch()

    def _watch(self) -> None:
        pull = self._stock.pull
        if pull is None or not self.is_current:
            return
        now = pull.progress
        if (seen := f"{now.ref} {now.words} {now.message}") == self._seen:
            return
        was, self._seen = self._seen, seen
        self.find(self.field.value)
        if now.state == "done" and was:
            self._news = f"Downloaded: {', '.join(pull.refs)}. Choose it in the list."
            self._reload()


def _key(item: Item | None) -> tuple[str, str] | None:
    """What makes a row the same one when it is shown again."""
    match item.value if item else None:
        case Installed(ref=ref) | Ask(ref=ref):
            return "model", ref
        case Offer() as pair:
            return "offer", pair.target.ref
        case Pull():
            return "download", ""
    return None
