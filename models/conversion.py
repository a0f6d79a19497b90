"""GGUF files converted once to MLX folders, and kept.

A conversion is named after the file's identity and the converter's version, written beside its place
and moved there in one step, so a killed process leaves nothing that looks whole. One process converts at a
time, and removes what killed ones left. A manifest tells a damaged conversion from a whole one.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TextIO

from models import folder as model_folder
from models.errors import ModelError
from models.locations import models_dir

VERSION = 1  # of the converter; a change makes every file convert anew
_MANIFEST = "conversion.json"
_STAGING = ".new-"
_HASHED_HEAD = 1 << 20  # bytes of the file that count for its identity, besides its size and time
_HASHED_WHOLE = 32 << 20  # bytes; larger files are checked by their size and their header

Progress = Callable[[str], None]


@contextmanager
def converted(gguf: Path, progress: Progress) -> Iterator[Path]:
    """The MLX folder of the GGUF file at `gguf`, converted now if it was not before.

    The folder is valid inside the `with` block: where nothing can be kept, it is a temporary one.

    Raises:
        ModelError: if the file is damaged or of an unsupported kind.
        OSError: if it cannot be read, or not even a temporary folder can be written.
    """
    kept = place(gguf)
    if _is_whole(kept, progress) or _keep(gguf, kept, progress):
        yield kept
        return
    with tempfile.TemporaryDirectory(prefix="specchat-") as temporary:
        _convert(gguf, Path(temporary), progress)
        yield Path(temporary)


def place(gguf: Path) -> Path:
    """Where the conversion of a GGUF file is kept, if it is."""
    return models_dir() / "converted" / f"{gguf.stem}-{_identity(gguf)}"


def _is_whole(kept: Path, progress: Progress) -> bool:
    if not kept.exists():
        return False
    if (damage := _damage(kept)) is None:
        return True
    progress(f"The converted model in {kept} is damaged ({damage}); converting it again.")
    return False


def _keep(gguf: Path, kept: Path, progress: Progress) -> bool:
    """Convert `gguf` to `kept`, or wait for another process that does; False if nothing can be kept."""
    folder = kept.parent
    with ExitStack() as held:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _lock(held.enter_context((folder / ".lock").open("w")), progress)
            if kept.exists():
                if _damage(kept) is None:
                    return True
                shutil.rmtree(kept)
            # Under the lock nobody else converts, so these are of processes that were killed.
            for leftover in folder.glob(f"{_STAGING}*"):
                shutil.rmtree(leftover)
            staging = Path(tempfile.mkdtemp(prefix=_STAGING, dir=folder))
        except OSError as error:
            progress(
                f"{folder} cannot be written ({error.strerror}), so {gguf.name} is converted anew each time."
            )
            return False
        held.callback(shutil.rmtree, staging, ignore_errors=True)
        _convert(gguf, staging, progress)
        staging.rename(kept)
    return True


def _lock(file: TextIO, progress: Progress) -> None:
    """Hold the system's lock on `file` until it is closed; it also ends with the process."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        progress("Waiting for another specchat that converts a model.")
        fcntl.flock(file, fcntl.LOCK_EX)


def _identity(gguf: Path) -> str:
    """A short name for this very file: its size, its time, and the first bytes of it."""
    stat = gguf.stat()
    with gguf.open("rb") as file:
        head = file.read(_HASHED_HEAD)
    digest = hashlib.sha256(f"{VERSION}:{stat.st_size}:{stat.st_mtime_ns}:".encode())
    digest.update(head)
    return digest.hexdigest()[:16]


def _convert(gguf: Path, into: Path, progress: Progress) -> None:
    # MLX is imported only when there is something to convert.
    import mlx.core as mx

    from models.gguf.architecture import configuration, weights
    from models.gguf.header import read_header
    from models.gguf.tokens import write_tokenizer

    progress(f"Converting {gguf.name} to MLX, once.")
    header = read_header(gguf)
    config = configuration(header)
    config["eos_token_id"] = write_tokenizer(header, into)
    (into / "config.json").write_text(json.dumps(config, indent=1), "utf-8")
    converted_weights = weights(header, config)
    try:
        mx.save_safetensors(str(into / "model.safetensors"), converted_weights, {"format": "mlx"})
    except RuntimeError as error:  # MLX does not say why, but the folder could be written a moment ago
        need = sum(value.nbytes for value in converted_weights.values()) / 1e6
        raise ModelError(
            f"There is no room for the converted {gguf.name} in {into.parent}.",
            f"Free {need:.0f} MB there, or set SPECCHAT_HOME to a folder with more room.",
        ) from error
    files = {file.name: _fingerprint(file) for file in sorted(into.iterdir())}
    (into / _MANIFEST).write_text(json.dumps({"source": str(gguf), "files": files}, indent=1), "utf-8")


def _fingerprint(file: Path) -> str:
    """Size and, for a small file, hash. The hash of gigabytes would cost more than the start itself."""
    size = file.stat().st_size
    return f"{size}:{hashlib.sha256(file.read_bytes()).hexdigest()}" if size <= _HASHED_WHOLE else str(size)


def _damage(kept: Path) -> str | None:
    """What is wrong with a conversion, or None."""
    try:
        expected = model_folder.read_json(kept / _MANIFEST).get("files")
        if not isinstance(expected, dict) or not expected:
            return "its list of files is empty"
        for name, fingerprint in expected.items():
            if _fingerprint(kept / name) != fingerprint:
                return f"{name} has changed"
        model_folder.check(kept)
    except OSError as error:
        return f"{Path(error.filename or kept).name}: {error.strerror}"
    except ModelError as error:
        return error.message.rstrip(".")
    return None
