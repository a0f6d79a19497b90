"""A plot of V(M) in characters, between its two limits."""

from __future__ import annotations

from collections.abc import Mapping

MEASURED, SERIAL, FLAT = "●", "/", "·"
_COLUMN = 3  # cells for each M
LEGEND = f"{MEASURED} measured  {SERIAL} serial  {FLAT} flat"


def cost_curve(verify_cost: Mapping[int, float], height: int) -> list[str]:
    """Lines of a plot: what M rows cost, in forwards over one row.

    Args:
        verify_cost: V(M) by M, those that were measured.
        height: lines of the plot itself, at least 2; two more name M.

    Returns:
        The lines from the top; none without measurements.
    """
    if not verify_cost:
        return []
    most = max(2, *verify_cost)
    top = max(2.0, most, *verify_cost.values())

    def level(value: float) -> int:
        """The line, from the bottom, that `value` falls on."""
        return max(0, min(height - 1, round((value - 1) / (top - 1) * (height - 1))))

    cells = [[" "] * (_COLUMN * most) for _ in range(height)]
    for m in range(1, most + 1):
        middle = _COLUMN * (m - 1) + 1
        cells[level(1)][middle] = FLAT
        cells[level(m)][middle] = SERIAL
        if m in verify_cost:
            cells[level(verify_cost[m])][middle] = MEASURED
    lines = []
    for row in reversed(range(height)):
        name = f"{top:.0f}x" if row == height - 1 else "1x" if row == 0 else ""
        lines.append(f"{name:>4} │{''.join(cells[row]).rstrip()}")
    lines.append(f"     └{'─' * (_COLUMN * most)}")
    lines.append("   M  " + "".join(f"{m:^{_COLUMN}}" for m in range(1, most + 1)).rstrip())
    return lines
