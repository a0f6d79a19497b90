"""What each token id of a model means, read from its tokenizer's files without making a tokenizer."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from models.errors import ModelError
from models.folder import MAX_TOKENIZER

_UNUSED = 5  # a GGUF token type: rows that only pad the output


@dataclass(frozen=True)
class Vocabulary:
    """What is remembered of a table of tokens; the table itself is read when it is asked for.

    Attributes:
        file: that holds it.
        fingerprint: equal for equal tables.
        size: one more than the largest id.
    """

    file: Path
    fingerprint: str
    size: int

    def get_vocab(self) -> dict[str, int]:
        """Ids by text, under the name that tokenizers have for it."""
        return _ids(*_version(self.file)) or {}


def of_model(path: Path) -> Vocabulary | None:
    """The table of a model folder or a GGUF file; None where only its own tokenizer could tell.

    Raises:
        ModelError: the file is damaged or too large.
        OSError: it cannot be read.
    """
    file = path / "tokenizer.json" if path.is_dir() else path
    return _summary(*_version(file)) if file.is_file() else None


def forget() -> None:
    """Let go of the tables that were read, and remember their fingerprints alone."""
    _ids.cache_clear()


def _version(file: Path) -> tuple[Path, int, int]:
    stat = file.stat()
    return file, stat.st_size, stat.st_mtime_ns


@lru_cache(maxsize=256)
def _summary(file: Path, size: int, changed: int) -> Vocabulary | None:
    ids = _ids(file, size, changed)
    if ids is None:
        return None
    digest = hashlib.sha256()
    for token, i in sorted(ids.items(), key=lambda entry: entry[1]):
        digest.update(f"{i}\0{token}\0".encode("utf-8", "surrogatepass"))
    return Vocabulary(file, digest.hexdigest()[:16], max(ids.values(), default=-1) + 1)


@lru_cache(maxsize=2)  # a target's and a draft's: one of 150,000 tokens takes 20 MB
def _ids(file: Path, size: int, changed: int) -> dict[str, int] | None:
    return _of_gguf(file) if file.suffix.lower() == ".gguf" else _of_json(file, size)


def _of_json(file: Path, size: int) -> dict[str, int]:
    damaged = ModelError(f"{file} holds no table of tokens.", "Fetch the model again.")
    if size > MAX_TOKENIZER:
        raise ModelError(f"{file} is larger than {MAX_TOKENIZER >> 20} MB.", "Fetch the model again.")
    try:
        data = json.loads(file.read_text("utf-8"))
        ids = _table(data["model"]["vocab"])
        ids |= {token["content"]: token["id"] for token in data.get("added_tokens") or ()}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise damaged from error
    if not ids or not all(isinstance(t, str) and isinstance(i, int) and i >= 0 for t, i in ids.items()):
        raise damaged
    return ids


def _table(vocab: Any) -> dict[str, int]:
    """By text, whether it is stored so or as a list of texts with scores."""
    if isinstance(vocab, dict):
        return dict(vocab)
    return {entry[0]: i for i, entry in enumerate(vocab)}


def _of_gguf(file: Path) -> dict[str, int] | None:
    # Only now: it imports numpy.
    from models.gguf.header import read_header

    metadata = read_header(file).metadata
    tokens, types = metadata.get("tokenizer.ggml.tokens"), metadata.get("tokenizer.ggml.token_type")
    if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
        return None
    if types is not None and len(types) == len(tokens):
        while tokens and types[len(tokens) - 1] == _UNUSED:
            tokens = tokens[:-1]
    return {token: i for i, token in enumerate(tokens)}
