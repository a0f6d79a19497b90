"""Measurements kept between runs: one small JSON file for each pair of models on each backend.

What is kept is good for this machine, these versions and these settings alone, so all of them are the
file's key. A file that cannot be used is no failure: it is said, and measured again.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from app.display import neutralise
from app.replacement import replaced

FORMAT = 1
MOST_FILES = 64
MOST_BYTES = 1 << 20  # of a file; one takes about 5 KB


@dataclass
class Kept:
    """What one file holds, as plain data.

    Attributes:
        depths: by depth in tokens, what a probe measured there.
        controller: what the policy learnt; None if nothing yet.
    """

    depths: dict[int, dict[str, Any]] = field(default_factory=dict)
    controller: dict[str, Any] | None = None


class Measurements:
    """The file of one key."""

    def __init__(self, folder: Path, key: Mapping[str, Any]) -> None:
        """Args:
        folder: of all such files; made when the first is written.
        key: everything that the measurements depend on, JSON-ready.
        """
        self._key = json.loads(json.dumps(key))
        name = hashlib.sha256(json.dumps(self._key, sort_keys=True).encode()).hexdigest()[:24]
        self.path = folder / f"{name}.json"

    def read(self) -> tuple[Kept, str | None]:
        """What is kept, and a sentence if there is a file that cannot be used."""
        try:
            if self.path.stat().st_size > MOST_BYTES:
                raise ValueError("it is too large")
            data = json.loads(self.path.read_bytes())
            if data["format"] != FORMAT or data["key"] != self._key:
                raise ValueError("it is another file's")
            depths = {int(depth): dict(found) for depth, found in data["depths"].items()}
            controller = data["controller"]
            return Kept(depths, None if controller is None else dict(controller)), None
        except FileNotFoundError:
            return Kept(), None
        except OSError as error:
            return Kept(), self.unusable(error.strerror or str(error))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return Kept(), self.unusable("it is damaged")

    def unusable(self, why: str) -> str:
        """A sentence for a file that is there and of no use."""
        return f"The measurements in {neutralise(str(self.path))} cannot be used ({why}): measuring again."

    def write(self, kept: Kept) -> str | None:
        """Replace the file, all of it or nothing; a sentence if that failed."""
        data = {
            "format": FORMAT,
            "key": self._key,
            "depths": {str(depth): found for depth, found in kept.depths.items()},
            "controller": kept.controller,
        }
        text = json.dumps(data, allow_nan=False) + "\n"
        folder = self.path.parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with replaced(self.path) as stream:
                stream.write(text.encode())
            self._prune(folder)
        except OSError as error:
            return (
                f"What was measured cannot be kept in {neutralise(str(folder))} "
                f"({error.strerror or error}): the next start measures again."
            )
        return None

    def _prune(self, folder: Path) -> None:
        """Remove the files that were not written to for the longest time."""
        files = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime)
        for old in files[:-MOST_FILES]:
            if old != self.path:
                with suppress(FileNotFoundError):  # another process was faster
                    old.unlink()


def of_backend() -> dict[str, Any]:
    """What the speed of a model depends on besides the model: machine, versions, variables."""
    import mlx.core as mx

    from mlx_spec.measuring.device import kernel_variables

    chip = str(mx.device_info().get("device_name", "")) or platform.processor()
    return {
        "chip": _processor() or chip,
        "gpu": str(mx.device_info().get("architecture", "")),
        "device": str(mx.default_device()),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.mac_ver()[0] or platform.release()} {platform.machine()}",
        "mlx": version("mlx"),
        "mlx-lm": version("mlx-lm"),
        "variables": kernel_variables(os.environ),
    }


def _processor() -> str | None:
    """The processor as Linux names it, with its family, since a name alone may be that of many."""
    if sys.platform != "linux":
        return None
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split("\n\n")[0]
    except OSError:
        return None
    entries = dict(part.partition(":")[::2] for part in lines.replace("\t", "").splitlines())
    wanted = ("model name", "cpu family", "model", "stepping", "CPU part")
    found = [entries[name].strip() for name in wanted if name in entries]
    return " ".join(found) or None


def of_pair(info: Any, draft: str, kv_bits: int | None) -> dict[str, Any]:
    """The pair's part of a key.

    Args:
        info: of the target: `models.loaded.Info`.
        draft: the draft source as an option names it.
        kv_bits: of a quantized KV cache.
    """
    return {
        "target": info.ref,
        "revision": info.revision,
        "family": info.family,
        "bytes": info.nbytes,  # a folder or a file may get other contents under the same name
        "dtype": info.dtype,
        "quantization": info.quantization,
        "draft": draft,
        "kv_bits": kv_bits,
    }
