"""The verdict on speculation, for the eye: a symbol with a few words, and the sentence as a banner."""

from __future__ import annotations

import re

from rich.style import Style
from rich.table import Table
from rich.text import Text
from textual.app import RenderResult
from textual.reactive import reactive
from textual.widget import Widget

from app.desk.commands import BY_NAME, key_name
from app.display import neutralise
from app.tui.terminal import palette
from mlx_spec.verdict.diagnose import Verdict

# Symbol, words, colour by kind. No two kinds share a symbol, so that none depends on its colour.
_LOOKS = {
    "measuring": ("◔", "measuring", palette.MUTED),
    "paying": ("▴", "pays", palette.GOOD),
    "parked": ("‖", "parked", palette.WARM),
    "slower": ("▾", "slower", palette.BAD),
    "off": ("∅", "off", palette.MUTED),
}
_CAUSES = {
    "verification": "verification",
    "cliff": "a cliff",
    "draft": "draft cost",
    "acceptance": "acceptance",
    "overhead": "overhead",
    "context": "context",
}
# What the controller does at the moment, where the verdict would have it do otherwise.
_NOW = {
    ("measuring", "parked"): "parked now",
    ("paying", "parked"): "parked now",
    ("paying", "measuring"): "measured again",
    ("parked", "measuring"): "tried again",
    ("parked", "speculating"): "tried again",
}


_HEAD = re.compile(r"(?<!off): |\. ")  # numbers follow, but after "off" the reason does
MORE = f"{key_name(BY_NAME['why'].key)} says more."


def style(verdict: Verdict) -> Style:
    """Of the symbol and its words."""
    return Style(color=_LOOKS[verdict.kind][2], bold=True)


def tags(verdict: Verdict, k: int = 0) -> list[str]:
    """The symbol and the words, the longest first; even the shortest says nothing that is not so.

    Args:
        verdict: the latest.
        k: draft tokens of the next round. A parked controller's first few tries are no measurement yet to
            it, and to who reads K they are.
    """
    symbol, words, _ = _LOOKS[verdict.kind]
    shortest = longer = f"{symbol} {words}"
    speedup = verdict.facts.get("speedup")
    if verdict.kind in ("paying", "slower") and speedup:
        shortest = longer = f"{shortest} {speedup['value']:.2f}x"
    elif cause := _CAUSES.get(verdict.cause or ""):
        longer = f"{shortest}: {cause}"
    now = _NOW.get((verdict.kind, doing(verdict.now or "", k)))
    longest = f"{longer}, {now}" if now else longer
    if now and verdict.kind == "parked":
        longer, shortest = f"{shortest}, {now}", f"{symbol} {now}"
    return list(dict.fromkeys((longest, longer, shortest)))


def doing(state: str, k: int) -> str:
    """What the controller does, in the engine's words: whoever drafts is not parked."""
    return "measuring" if k and state == "parked" else state


def loud(verdict: Verdict | None) -> bool:
    """Whether the banner says it."""
    return verdict is not None and verdict.warns


def quiet(verdict: Verdict | None) -> str:
    """The sentence, unless the banner says it: everything is said once."""
    return "" if verdict is None or loud(verdict) else verdict.sentence


def head(sentence: str) -> str:
    """What the sentence begins with: the cause, without its numbers."""
    return _HEAD.split(sentence, maxsplit=1)[0].removesuffix(".")


class Banner(Widget):
    """The verdict's sentence while speculation does not pay; nothing otherwise.

    It stands there in full until the person has read it; then one line says where it can be read again.
    """

    DEFAULT_CSS = """
    Banner {
        display: none;
        height: auto;
        max-height: 4;
        padding: 0 2;
    }
    Banner.-told { display: block; }
    """

    said: reactive[tuple[Verdict, str] | None] = reactive(None, layout=True)
    _brief = False

    def show(self, verdict: Verdict | None) -> None:
        """Say this, or nothing. What says the same costs no layout of the screen."""
        if verdict is None or not loud(verdict):
            self.said = None
            self.remove_class("-told")
            return
        told = neutralise(f"{head(verdict.sentence)}. {MORE}" if self._brief else verdict.sentence)
        if self.said is None or self.said[1] != told or self.said[0].kind != verdict.kind:
            self.said = (verdict, told)
        self.add_class("-told")

    def shorten(self) -> None:
        """The person has had time to read it."""
        if not self._brief:
            self._brief = True
            self.show(self.said and self.said[0])

    def render(self) -> RenderResult:
        """Symbol and sentence, whose lines stand below each other."""
        if self.said is None:
            return Text()
        verdict, told = self.said
        table = Table.grid()
        table.add_column(width=2)
        table.add_column()
        table.add_row(Text(_LOOKS[verdict.kind][0], style(verdict)), Text(told))
        return table
