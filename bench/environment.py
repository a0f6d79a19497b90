"""Where a measurement was made: the kind of machine and its state, and nothing that tells whose it is."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

BUSY = 0.5  # load average above which other programs take part
_POWER = Path("/sys/class/power_supply")


def environment() -> dict[str, Any]:
    """Versions, chip, memory and system; no host name, no user, no path."""
    from mlx_spec.measuring.device import kernel_variables

    return {
        "date": datetime.date.today().isoformat(),
        "system": f"{platform.system()} {platform.machine()}",
        "os": platform.mac_ver()[0] or platform.release(),
        "chip": _chip(),
        "cores": os.cpu_count(),
        "memory_bytes": _memory(),
        "device": _device(),
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in ("specchat", "mlx", "mlx-lm", "numpy")},
        # A variable may name a place: its last part says which library or kernel it is.
        "variables": {name: value.rsplit("/", 1)[-1] for name, value in kernel_variables(os.environ).items()},
    }


def differing(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    """In what two environments differ, in words; the date does not count."""
    names = {"chip": "chip", "os": "system version", "versions": "package versions", "python": "Python"}
    names |= {"variables": "environment variables", "device": "device", "memory_bytes": "memory"}
    return [words for name, words in names.items() if a.get(name) != b.get(name)]


def conditions() -> dict[str, Any]:
    """What may disturb a measurement now. None is what this system does not tell.

    Returns:
        load: runnable processes, averaged over the last minute.
        battery: whether it runs on one.
        low_power: whether the system saves power.
        speed_limit: percent that heat leaves of the processor's speed.
    """
    found: dict[str, Any] = {
        "load": round(os.getloadavg()[0], 2),
        "battery": None,
        "low_power": None,
        "speed_limit": None,
    }
    if sys.platform == "darwin":
        battery = _said("pmset", "-g", "batt")
        low_power = re.search(r"lowpowermode\s+(\d)", _said("pmset", "-g"))
        limit = re.search(r"CPU_Speed_Limit\s*=\s*(\d+)", _said("pmset", "-g", "therm"))
        found["battery"] = "Battery Power" in battery if battery else None
        found["low_power"] = low_power[1] == "1" if low_power else None
        found["speed_limit"] = int(limit[1]) if limit else None
    elif _POWER.is_dir():
        states = [file.read_text().strip() for file in _POWER.glob("BAT*/status")]
        found["battery"] = "Discharging" in states if states else None
    return found


def warnings(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Conditions that make a measurement doubtful, in sentences."""
    said = []
    if (load := before["load"]) > BUSY:
        said.append(f"Other programs were busy at the start (load {load}): intervals are wide.")
    for now in (before, after):
        if now["battery"]:
            said.append("It ran on battery, where the system may slow down.")
        if now["low_power"]:
            said.append("Low-power mode was on: speeds are lower than this machine's.")
        if (limit := now["speed_limit"]) is not None and limit < 100:
            said.append(f"Heat limited the processor to {limit}% of its speed.")
    return list(dict.fromkeys(said))


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:  # specchat itself, run from its source
        return None


def _said(*command: str) -> str:
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    except OSError:
        return ""


def _chip() -> str:
    if sys.platform == "darwin":
        return _said("sysctl", "-n", "machdep.cpu.brand_string").strip()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return None


def _device() -> dict[str, Any]:
    """What MLX runs on."""
    import mlx.core as mx

    info = mx.device_info()
    return {
        "kind": mx.default_device().type.name,
        **{name: info[name] for name in ("architecture",) if name in info},
    }
