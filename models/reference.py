"""A reference: what the user typed to name a model, and which kind of place it points to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from models.errors import ModelMissing
from models.locations import expanded

Kind = Literal["builtin", "gguf", "folder", "hub"]

KINDS = "`builtin`, a folder in MLX format, a .gguf file, or a hub repository such as org/name"
_REPOSITORY = re.compile(r"(?P<repo>[\w.-]+/[\w.-]+)(@(?P<revision>[\w./-]+))?", re.ASCII)


@dataclass(frozen=True)
class Reference:
    """One model, named.

    Attributes:
        text: as the user typed it.
        kind: which kind of place it points to.
        path: of a `gguf` file or a `folder`.
        repository: `org/name` of a `hub` repository.
        revision: branch, tag or commit that the user pinned, or None.
    """

    text: str
    kind: Kind
    path: Path | None = None
    repository: str | None = None
    revision: str | None = None

    @classmethod
    def parse(cls, text: str) -> Reference:
        """Find out what `text` names. What is there on disk goes before a hub repository.

        Raises:
            ModelMissing: if it names nothing that is there or could be fetched.
        """
        if text == "builtin":
            return cls(text, "builtin")
        path = expanded(text)
        if text and path.is_dir():
            return cls(text, "folder", path=path)
        if path.suffix.lower() == ".gguf":
            if path.is_file():
                return cls(text, "gguf", path=path)
            raise ModelMissing(f"There is no file {text}.", "Check the path.")
        if path.is_file():
            raise ModelMissing(
                f"{text} is a file, but not a .gguf file.",
                "Name the folder that holds config.json, or a .gguf file.",
            )
        pinned = _REPOSITORY.fullmatch(text)
        if pinned and not text.startswith((".", "~")) and ".." not in text:
            return cls(text, "hub", repository=pinned["repo"], revision=pinned["revision"])
        if text.startswith((".", "~", "/")) or "/" in text:
            raise ModelMissing(f"There is no file or folder {text}.", f"Name a model: {KINDS}.")
        raise ModelMissing(f'No model is called "{text}".', f"Name a model: {KINDS}.")
