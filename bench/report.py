"""What a measurement says: a table for people, and one JSON line that also says where it was made."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.interleave import Run
from bench.statistics import speedup, tokens_per_second


def row(ours: Sequence[Run], baseline: Sequence[Run]) -> dict[str, Any]:
    """What is reported of one way: speed, speedup over the baseline, same answers, acceptance."""
    timings = [run.timing for run in ours]
    ratio = speedup(timings, [run.timing for run in baseline])
    drafted, accepted, rounds = (
        sum(getattr(run, field) for run in ours) for field in ("drafted", "accepted", "rounds")
    )
    return {
        "tok_s": round(tokens_per_second(timings), 3),
        "speedup": {"value": round(ratio.value, 4), "low": round(ratio.low, 4), "high": round(ratio.high, 4)},
        "same_answers": sum(a.answer == b.answer for a, b in zip(ours, baseline, strict=True)),
        "blocks": len(ours),
        "acceptance_rate": round(accepted / drafted, 4) if drafted else None,
        "acceptance_length": round(1 + accepted / rounds, 4) if rounds else None,
    }


def machine() -> dict[str, Any]:
    """The kind of machine: no host name, nothing that tells one machine of a kind from another."""
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in ("mlx", "mlx-lm")},
    }


def _processor() -> str:
    if sys.platform == "darwin":
        command = ["sysctl", "-n", "machdep.cpu.brand_string"]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def today() -> str:
    return datetime.date.today().isoformat()


def table(reports: Iterable[Mapping[str, Any]], baseline: str) -> str:
    """Reports of several backends as text."""
    lines = [
        f"{'backend':<12}{'way':<14}{'tok/s':>8}  {'speed / ' + baseline:<26}"
        f"{'same answers':>12}{'accepted':>10}{'length':>8}"
    ]
    for report in reports:
        for way, row in report["ways"].items():
            ratio = row["speedup"]
            interval = f"{ratio['value']:.3f} ({ratio['low']:.3f} to {ratio['high']:.3f})"
            rate, length = row["acceptance_rate"], row["acceptance_length"]
            lines.append(
                f"{report['backend']:<12}{way:<14}{row['tok_s']:>8.2f}  "
                f"{'-' if way == baseline else interval:<26}"
                f"{row['same_answers']:>9}/{row['blocks']:<2}"
                f"{'-' if rate is None else format(rate, '.0%'):>10}"
                f"{'-' if length is None else format(length, '.2f'):>8}"
            )
    return "\n".join(lines)
