"""What a reader should take home from a sweep, in sentences."""

from __future__ import annotations

from bench.design import PLAIN
from bench.findings import Findings, Half
from bench.statistics import Estimate, ratio

MARGIN = 0.02  # that `auto` may lose at most


def conclusions(findings: Findings) -> list[str]:
    """What a reader should take home, in sentences."""
    said = []
    best, recommended = findings.best, findings.recommended
    if recommended is not None:
        names = ", ".join(way.name for way in best)
        if recommended.name == PLAIN:
            said.append(
                f"No K is shown to be faster than plain decoding: {names} cannot be told apart."
                if len(best) > 1
                else "Plain decoding is the fastest: no K pays here."
            )
        elif len(best) == 1:
            said.append(f"{recommended.name} is the fastest.")
        else:
            said.append(
                f"Cannot be told apart from the fastest: {names}. "
                f"The smallest, {recommended.name}, is recommended."
            )
    for half in findings.halves:
        said.append(f"Picked on half of the prompts: {half.picked}{_elsewhere(half)}.")
    for pair in findings.pairs:
        said.append(f"{pair.ours} over {pair.theirs}: {ratio(pair.ratio)}.")
    rival = findings.baseline.way.name
    for name, low in findings.autos.items():
        speedup = findings.row(name).speedup
        assert speedup is not None
        said.append(_auto(name, "plain decoding" if rival == PLAIN else rival, speedup, low))
        if verdict := findings.row(name).verdict:
            said.append(f"What {name} says of itself: {verdict}")
    return said


def _elsewhere(half: Half) -> str:
    return "" if half.picked == PLAIN else f", which ran at {ratio(half.speedup)} on the other half"


def _auto(name: str, rival: str, speedup: Estimate, low: float) -> str:
    """Whether `auto` keeps its promise, by a one-sided test of non-inferiority."""
    if not speedup.bounded:
        return f"{name}: too few prompts to say whether it is slower than {rival}."
    if low >= 1 - MARGIN:
        return f"{name} is not slower than {rival} by more than {MARGIN:.0%} (at least {low:.3f}x)."
    if speedup.high < 1 - MARGIN:
        return f"{name} is slower than {rival} by more than {MARGIN:.0%} (at most {speedup.high:.3f}x)."
    return (
        f"{name} is not shown to be within {MARGIN:.0%} of {rival}: "
        f"it may be as slow as {low:.3f}x. More prompts would tell."
    )
