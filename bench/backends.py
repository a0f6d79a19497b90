"""The two backends that every machine has: the embedded model as shipped, and in float32.

In 4-bit a CPU walks the weights once for each row of a verification; in float32 with a good BLAS it
walks them once for all rows. On Linux the `mlx` wheel brings a slow reference BLAS, so float32 runs
in a process that has OpenBLAS preloaded, if there is one.
"""

from __future__ import annotations

import ctypes.util
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Backend:
    """One way to hold the target's weights.

    Attributes:
        dtype: what to load them as; None keeps them as they are.
        wants_blas: its speed depends on the BLAS library.
    """

    dtype: str | None
    wants_blas: bool


BACKENDS = {
    "as-shipped": Backend(dtype=None, wants_blas=False),
    "float32": Backend(dtype="float32", wants_blas=True),
}


def find_blas() -> str | None:
    """The OpenBLAS library to preload, or None: not installed, or not needed on this system."""
    return ctypes.util.find_library("openblas") if sys.platform == "linux" else None


def measure_in_child(module: str, backend: str, arguments: Sequence[str], blas: str | None) -> str:
    """Run `python -m module --backend NAME arguments` with `blas` preloaded; its last line of output.

    Raises:
        subprocess.CalledProcessError: it failed; it has said why on stderr.
    """
    environment = dict(os.environ)
    if blas and BACKENDS[backend].wants_blas:
        environment["LD_PRELOAD"] = blas
    command = [sys.executable, "-m", module, "--backend", backend, *arguments]
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.splitlines()[-1]
