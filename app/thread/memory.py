"""How much memory the program holds at one moment, by MLX's own count and by the system's."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Memory:
    """Bytes at one moment; 0 where nobody tells.

    Attributes:
        active: in arrays of MLX.
        peak: the most that `active` was since the start or the latest switch.
        cache: kept by MLX for later arrays, and given back when the system wants it.
        process: resident in memory, all of the program.
        process_peak: the most that `process` ever was.
    """

    active: int = 0
    peak: int = 0
    cache: int = 0
    process: int = 0
    process_peak: int = 0

    @classmethod
    def now(cls) -> Memory:
        """What is held now. MLX is asked if it is loaded, and is not loaded for that."""
        mx = sys.modules.get("mlx.core")
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return cls(
            active=mx.get_active_memory() if mx else 0,
            peak=mx.get_peak_memory() if mx else 0,
            cache=mx.get_cache_memory() if mx else 0,
            process=_resident(),
            process_peak=most if sys.platform == "darwin" else most * 1024,
        )


def _resident() -> int:
    with suppress(OSError, ValueError, subprocess.SubprocessError):
        if sys.platform == "linux":
            return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
        asked = ["ps", "-o", "rss=", "-p", str(os.getpid())]
        return int(subprocess.run(asked, capture_output=True, timeout=2, check=True).stdout) * 1024
    return 0
