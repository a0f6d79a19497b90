"""The draft sources for one target, and why the others could not draft for it."""

from __future__ import annotations

from collections.abc import Sequence

from app.settings.settings import Settings
from app.tui.sheets.asking import Asking
from app.tui.sheets.menu import Item
from app.tui.sheets.question import Answer, Question
from models.installed import Installed
from models.sources import Source
from models.stock import Stock


class Sources(Asking[str]):
    """What could draft for one target, and why the rest cannot. Closes with the draft source's name."""

    def __init__(
        self, stock: Stock, target: Installed, models: Sequence[Installed], settings: Settings
    ) -> None:
        """Args:
        stock: the models.
        target: that verifies.
        models: that are here.
        settings: of the pair that is loaded.
        """
        super().__init__(f"Draft source for {target.name}", "Find", "Enter chooses · Esc goes back")
        self._stock, self._target, self._models, self._settings = stock, target, models, settings
        self._sources: list[Source] | None = None

    def on_mount(self) -> None:
        """Compare tables of tokens, which takes a moment."""
        self.ask(lambda: self._stock.sources(self._target, self._models), self._take)

    def _take(self, found: list[Source]) -> None:
        self._sources = found
        self.find(self.field.value)

    def rows(self, part: str) -> list[Item]:
        """Those that fit, then the others with their reasons."""
        found = [each for each in self._sources or () if part.strip().lower() in each.name.lower()]
        rows = [self._row(each) for each in found if not each.reason]
        others = [Item(each.name, each.reason, value=each) for each in found if each.reason]
        return [*rows, *([Item("Cannot draft for it"), *others] if others else [])]

    def _row(self, source: Source) -> Item:
        settings = self._settings
        draft = "lookup" if settings.draft == "auto" else settings.draft
        used = settings.model == self._target.ref and draft == source.draft
        return Item(source.name, source.note, "in use" if used else "", source)

    def about(self, item: Item | None) -> str:
        """The whole reason, or what the pair needs."""
        if item is None:
            return "Comparing tokens." if self._sources is None else "Nothing goes with that."
        source: Source = item.value
        needs = source.need.sentence(self._stock.memory) if source.need else ""
        return source.reason or " ".join(filter(None, (source.note, needs)))

    def choose(self, item: Item) -> None:
        """A source that fits; of another the whole reason, also where the screen is small."""
        source: Source = item.value
        if source.reason:
            self.app.push_screen(Question(source.name, [source.reason], [Answer("Back", False)]))
        else:
            self.dismiss(source.draft)
