"""The verdict on speculation, for the eye: a symbol with a few words, and the sentence as a banner."""

from __future__ import annotations

from rich.style import Style
from rich.text import Text
from textual.app import RenderResult
from textual.reactive import reactive
from textual.widget import Widget

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
}


def style(verdict: Verdict) -> Style:
    """Of the symbol and its words."""
    return Style(color=_LOOKS[verdict.kind][2], bold=True)


def tags(verdict: Verdict) -> list[str]:
    """The symbol and the words, the longest first; even the shortest says nothing that is not so."""
    symbol, words, _ = _LOOKS[verdict.kind]
    shortest = longer = f"{symbol} {words}"
    speedup = verdict.facts.get("speedup")
    if verdict.kind in ("paying", "slower") and speedup:
        shortest = longer = f"{shortest} {speedup['value']:.2f}x"
    elif cause := _CAUSES.get(verdict.cause or ""):
        longer = f"{shortest}: {cause}"
    now = _NOW.get((verdict.kind, verdict.now or ""))
    longest = f"{longer}, {now}" if now else longer
    return list(dict.fromkeys((longest, longer, shortest)))


def loud(verdict: Verdict | None) -> bool:
    """Whether the banner says it."""
    return verdict is not None and verdict.warns


def quiet(verdict: Verdict | None) -> str:
    """The sentence, unless the banner says it: everything is said once."""
    return "" if verdict is None or loud(verdict) else verdict.sentence


class Banner(Widget):
    """The verdict's sentence in full while speculation does not pay; nothing otherwise."""

    DEFAULT_CSS = """
    Banner {
        display: none;
        height: auto;
        max-height: 4;
        padding: 0 2;
    }
    Banner.-told { display: block; }
    """

    verdict: reactive[Verdict | None] = reactive(None, layout=True)

    def watch_verdict(self, verdict: Verdict | None) -> None:
        """Show it only where there is something to tell."""
        self.set_class(loud(verdict), "-told")

    def render(self) -> RenderResult:
        """Symbol and sentence."""
        if self.verdict is None:
            return Text()
        symbol = _LOOKS[self.verdict.kind][0]
        return Text.assemble((f"{symbol} ", style(self.verdict)), neutralise(self.verdict.sentence))
