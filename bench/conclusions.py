"""What a reader should take home from a sweep, in sentences."""

from __future__ import annotations

from bench.design import PLAIN
from bench.findings import Findings
from bench.statistics import Estimate

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
        said.append(
            f"Picked on one half of the prompts: {half.picked}; on the other half {_ran(half.speedup)}."
        )
    for name, low in findings.autos.items():
        said.append(_auto(name, findings.row(name).speedup, low))
    return said


def _auto(name: str, speedup: Estimate | None, low: float) -> str:
    """Whether `auto` keeps its promise, by a one-sided test of non-inferiority."""
    assert speedup is not None
    if not speedup.bounded:
        return f"{name}: too few prompts to say whether it is slower than plain decoding."
    if low >= 1 - MARGIN:
        return f"{name} is not slower than plain decoding by more than {MARGIN:.0%} (at least {low:.3f}x)."
    if speedup.high < 1 - MARGIN:
        return (
            f"{name} is slower than plain decoding by more than {MARGIN:.0%} ({speedup.high:.3f}x at most)."
        )
    return (
        f"{name} is not shown to be within {MARGIN:.0%} of plain decoding: "
        f"it may be as slow as {low:.3f}x. More prompts would tell."
    )


def _ran(estimate: Estimate) -> str:
    if not estimate.bounded:
        return f"it ran at {estimate.value:.2f}x"
    return f"it ran at {estimate.value:.2f}x ({estimate.low:.2f} to {estimate.high:.2f})"
