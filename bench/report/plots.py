"""The four plots of the page: speedup by K, acceptance by position, time of a round, cost of rows."""

from __future__ import annotations

from collections.abc import Sequence

from bench.design import LOOP
from bench.findings import Findings
from bench.report.svg import BOTTOM, HEIGHT, LEFT, RIGHT, SERIES, TOP, WIDTH, Chart, Scale, ticks
from bench.rows import Row
from bench.statistics import Estimate, ratio

_RATIOS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0)
_ENOUGH = 5  # tests that a point of the plot needs
_BAR = 22.0  # height of a bar with its gap


def speedup(findings: Findings) -> Chart:
    """Speedup over the baseline by K, one series a source, with a line at 1."""
    rows = findings.rows[1:]
    labels = _labels(rows)
    told = ", ".join(f"{row.way.name} {ratio(row.speedup)}" for row in rows)
    chart = Chart("speedup", "Speedup over plain decoding by K", f"With 95% intervals: {told}. Plain is 1.")
    low, high = _range(rows)
    y = Scale(low, high, HEIGHT - BOTTOM, TOP, logarithmic=True)
    for tick in _RATIOS:
        if low <= tick <= high:
            _rule(chart, y(tick), f"{tick:g}")
    chart.line([(LEFT, y(1)), (WIDTH - RIGHT, y(1))], "one")
    x = Scale(-0.5, len(labels) - 0.5, LEFT, WIDTH - RIGHT)
    for i, label in enumerate(labels):
        chart.text(x(i), HEIGHT - BOTTOM + 16, label)
    _axes(chart, "draft tokens a round, K", "speedup, plain = 1")
    sources = _sources(rows)
    for row in rows:
        assert row.speedup
        series = sources[row.way.source or LOOP]
        shift = 9.0 * (series - (len(sources) - 1) / 2) if row.way.source else 0.0
        at = x(labels.index(_label(row))) + shift
        if row.speedup.bounded:
            ends = [min(max(end, low), high) for end in (row.speedup.low, row.speedup.high)]
            chart.line([(at, y(end)) for end in ends], f"line{series % SERIES}")
        chart.mark(at, y(row.speedup.value), series, f"{row.way.name}: {ratio(row.speedup)}")
    return chart


def ranking(findings: Findings) -> Chart:
    """Every way's speed over the baseline's, one below the other."""
    rows = findings.rows
    told = ", ".join(f"{row.way.name} {ratio(row.speedup)}" for row in rows[1:])
    title = f"Speed over {findings.baseline.way.name}"
    height = TOP + 2 * _BAR * len(rows) + BOTTOM
    chart = Chart("speedup", title, f"With 95% intervals: {told}.", height)
    low, high = _range(rows[1:])
    x = Scale(low, high, 12.0, WIDTH - RIGHT, logarithmic=True)
    for tick in _RATIOS:
        if low <= tick <= high:
            chart.line([(x(tick), TOP), (x(tick), height - BOTTOM)], "one" if tick == 1 else "grid")
            chart.text(x(tick), height - BOTTOM + 16, f"{tick:g}")
    chart.text(WIDTH / 2, height - 8, "speed, on a logarithmic scale")
    for i, row in enumerate(rows):
        found, ours = row.speedup or Estimate(1.0, 1.0, 1.0), int(row.way.engine == "specchat")
        y = TOP + 2 * _BAR * i
        chart.text(14, y + 14, row.way.name, anchor="start")
        if found.bounded:
            ends = [min(max(end, low), high) for end in (found.low, found.high)]
            chart.line([(x(end), y + 27) for end in ends], f"line{ours}")
        chart.mark(x(found.value), y + 27, ours, f"{row.way.name}: {ratio(found)}")
    return chart


def _range(rows: Sequence[Row]) -> tuple[float, float]:
    """Of the axis of ratios: all values, 1, and intervals as far as a reader can use them."""
    known = [row.speedup for row in rows if row.speedup]
    low, high = (f([each.value for each in known] + [1.0]) for f in (min, max))
    for each in known:
        if each.bounded:
            low, high = min(low, max(each.low, low / 3)), max(high, min(each.high, high * 3))
    return low * 0.93, max(high, 1.1) * 1.07


def acceptance(findings: Findings) -> Chart | None:
    """Share of drafted tokens that stand at each position, given that all before them stood."""
    found = {source: _pooled(rows) for source, rows in _by_source(findings).items()}
    found = {source: shares for source, shares in found.items() if shares}
    if not found:
        return None
    told = "; ".join(f"{s}: {', '.join(f'{a:.0%}' for a in shares)}" for s, shares in found.items())
    chart = Chart("acceptance", "Acceptance by position", f"From position 1 on, {told}.")
    most = max(map(len, found.values()))
    x = Scale(0.5, most + 0.5, LEFT, WIDTH - RIGHT)
    y = Scale(0, 1, HEIGHT - BOTTOM, TOP)
    for tick in ticks(0, 1):
        _rule(chart, y(tick), f"{tick:.0%}")
    for i in range(most):
        chart.text(x(i + 1), HEIGHT - BOTTOM + 16, str(i + 1))
    _axes(chart, "position in the draft", "accepted, if reached")
    for source, shares in found.items():
        series = legend(findings)[source]
        points = [(x(i + 1), y(share)) for i, share in enumerate(shares)]
        chart.line(points, f"line{series % SERIES}")
        for i, (point, share) in enumerate(zip(points, shares, strict=True)):
            chart.mark(*point, series, f"{source}, position {i + 1}: {share:.0%}")
    return chart


def time_split(findings: Findings) -> Chart | None:
    """Milliseconds of a typical round: drafting, verifying, the rest, from left to right."""
    rows = [row for row in findings.rows if row.parts]
    if not rows:
        return None
    height = TOP + _BAR * len(rows) + BOTTOM
    told = "; ".join(
        f"{row.way.name} draft {1e3 * row.parts.draft_s:.1f}, verify {1e3 * row.parts.verify_s:.1f}, "
        f"rest {1e3 * row.parts.rest_s:.1f}"
        for row in rows
        if row.parts
    )
    chart = Chart("time", "Time of a round by its parts", f"Milliseconds: {told}.", height)
    left = LEFT + 62
    most = max(1e3 * (p.draft_s + p.verify_s + p.rest_s) for row in rows if (p := row.parts))
    x = Scale(0, most * 1.02, left, WIDTH - RIGHT)
    for tick in ticks(0, most, 5):
        chart.line([(x(tick), TOP), (x(tick), height - BOTTOM)], "grid")
        chart.text(x(tick), height - BOTTOM + 16, f"{tick:g}")
    chart.text((left + WIDTH - RIGHT) / 2, height - 8, "milliseconds a round")
    for i, row in enumerate(rows):
        assert row.parts
        y, at = TOP + _BAR * i, x(0)
        chart.text(left - 6, y + _BAR / 2 + 4, row.way.name, anchor="end")
        for series, name in enumerate(("draft", "verify", "rest")):
            part = 1e3 * max(getattr(row.parts, f"{name}_s"), 0.0)
            words = f"{row.way.name}, {name}: {part:.1f} ms"
            chart.bar(at, y + 3, x(part) - x(0), _BAR - 6, f"part{series}", words)
            at += x(part) - x(0)
    return chart


def verify_cost(findings: Findings) -> Chart | None:
    """V(M) with its two limits: all rows at the price of one, and each at the price of one."""
    curve = findings.curve
    if len(curve) < 2:
        return None
    told = ", ".join(f"{cost:.2f} for {rows}" for rows, cost in curve.items())
    chart = Chart("verify", "Cost of verifying M rows", f"In forwards of one row: {told}.")
    last = max(curve)
    top = max(*curve.values(), last) * 1.05
    x = Scale(0.5, last + 0.5, LEFT, WIDTH - RIGHT)
    y = Scale(0, top, HEIGHT - BOTTOM, TOP)
    for tick in ticks(0, top):
        _rule(chart, y(tick), f"{tick:g}")
    for rows in range(1, last + 1, 1 if last <= 12 else 2):
        chart.text(x(rows), HEIGHT - BOTTOM + 16, str(rows))
    _axes(chart, "rows of one forward, M", "V(M) = T(M) / T(1)")
    chart.line([(x(1), y(1)), (x(last), y(last))], "limit")
    chart.text(x(last) - 4, y(last) + 4, "serial: M", anchor="end")
    chart.line([(x(1), y(1)), (x(last), y(1))], "limit")
    chart.text(x(last), y(1) + 14, "flat: 1", anchor="end")
    points = [(x(rows), y(cost)) for rows, cost in curve.items()]
    chart.line(points, "line0")
    for point, (rows, cost) in zip(points, curve.items(), strict=True):
        chart.mark(*point, 0, f"{rows} rows: {cost:.2f}")
    return chart


def legend(findings: Findings) -> dict[str, int]:
    """The series of each source, as the plots number them."""
    return _sources(findings.rows[1:])


def _rule(chart: Chart, y: float, label: str) -> None:
    chart.line([(LEFT, y), (WIDTH - RIGHT, y)], "grid")
    chart.text(LEFT - 5, y + 4, label, anchor="end")


def _axes(chart: Chart, x: str, y: str) -> None:
    chart.text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, x)
    chart.text(4, 14, y, anchor="start")


def _label(row: Row) -> str:
    return row.way.name if row.way.k is None else str(row.way.k)


def _labels(rows: Sequence[Row]) -> list[str]:
    """Along the axis: every K in its order, then what has none."""
    ks = sorted({row.way.k for row in rows if isinstance(row.way.k, int)})
    return [*map(str, ks), *dict.fromkeys(_label(row) for row in rows if not isinstance(row.way.k, int))]


def _sources(rows: Sequence[Row]) -> dict[str, int]:
    names = dict.fromkeys(row.way.source or LOOP for row in rows)
    return {name: i for i, name in enumerate(sorted(names, key=lambda name: name == LOOP))}


def _by_source(findings: Findings) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {}
    for row in findings.rows[1:]:
        if row.way.source and isinstance(row.way.k, int):
            groups.setdefault(row.way.source, []).append(row)
    return groups


def _pooled(rows: Sequence[Row]) -> list[float]:
    """Accepted of tested at each position, over every K of a source, as far as enough were tested."""
    shares: list[float] = []
    for i in range(max((len(row.by_position) for row in rows), default=0)):
        at = [row.by_position[i] for row in rows if i < len(row.by_position)]
        tested = sum(n for _, n in at)
        if tested < _ENOUGH:
            break
        shares.append(sum(accepted for accepted, _ in at) / tested)
    return shares
