"""The only source of paths: where configuration, chats, models and caches are.

`SPECCHAT_HOME` puts all of them in one folder. Nothing here creates a folder.
"""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

_APP = "specchat"


def expanded(path: str) -> Path:
    """The path that a person wrote: `~` is the home folder; a user whom nobody knows stays as written."""
    return Path(os.path.expanduser(path))  # noqa: PTH111  Path's own fails on an unknown ~user


def _home() -> Path | None:
    home = os.environ.get("SPECCHAT_HOME")
    return expanded(home) if home else None


def config_dir() -> Path:
    """The folder of the configuration."""
    return _home() or platformdirs.user_config_path(_APP)


def config_file() -> Path:
    """The configuration file."""
    return config_dir() / "config.toml"


def data_dir() -> Path:
    """The folder of what cannot be made again, such as saved chats."""
    home = _home()
    return home / "data" if home else platformdirs.user_data_path(_APP)


def chats_file() -> Path:
    """The file of the kept chats, in a folder of its own."""
    return data_dir() / "chats" / "chats.db"


def cache_dir() -> Path:
    """The folder of what can be made again, such as measurements."""
    home = _home()
    return home / "cache" if home else platformdirs.user_cache_path(_APP)


def models_dir() -> Path:
    """The folder of models that specchat made: converted GGUF files, trained drafts."""
    return data_dir() / "models"


def hub_dir() -> Path:
    """The folder of hub downloads.

    It is the cache that other hub clients share (`HF_HUB_CACHE`, `HF_HOME`), so a model that
    another MLX program fetched is not fetched again.
    """
    home = _home()
    if home:
        return home / "hub"
    if shared := os.environ.get("HF_HUB_CACHE"):
        return expanded(shared)
    base = os.environ.get("HF_HOME")
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return expanded(base or f"{cache}/huggingface") / "hub"
