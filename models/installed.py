"""Which models are on this machine, and what their files tell of them.

No weight is read and nothing is fetched.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from models import builtin, conversion, vocabulary
from models.errors import ModelError
from models.folder import check, read_json
from models.locations import hub_dir, models_dir
from models.need import CONTEXT, Need, need
from models.reference import Kind, Reference
from models.size import Size, size_of
from models.vocabulary import Vocabulary

MOST = 512  # folders looked at in one place
# Model types that mlx-lm loads under another one's name.
RENAMED = {
    "mistral", "llava", "phi-msft", "falcon_mamba", "joyai_llm_flash", "kimi_k2", "qwen2_5_vl", "minimax_m2",
    "iquestcoder", "xverse", "gemma4_unified", "deepseek_v41_text",
}  # fmt: skip
_CONTEXT_KEYS = ("max_position_embeddings", "max_sequence_length", "n_positions", "seq_length")


@dataclass(frozen=True)
class Installed:
    """A model that is here, wholly or in part.

    Attributes:
        ref: as --model takes it.
        name: for people.
        kind: which kind of place it is in.
        path: of its folder or its GGUF file; None while nothing but a part of a download is here.
        size: from its files; None if they do not tell.
        family: its `model_type`; empty if its files do not tell.
        context: tokens that it was made for; None if its files do not tell.
        rows: of its output; None if its files do not tell.
        problem: why it cannot be loaded, as far as files tell: a sentence; empty if nothing is wrong.
        part: bytes of an unfinished download.
    """

    ref: str
    name: str
    kind: Kind
    path: Path | None = None
    size: Size | None = None
    family: str = ""
    context: int | None = None
    rows: int | None = None
    problem: str = ""
    part: int = 0

    @property
    def need(self) -> Need | None:
        """The memory that it needs alone; None if its size is not known."""
        if self.size is None:
            return None
        return need([self.size], min(CONTEXT, self.context or CONTEXT))

    def vocabulary(self) -> Vocabulary | None:
        """Its table of tokens; None where the files do not tell. May take a while: not for the UI's thread.

        Raises:
            ModelError, OSError: its tokenizer's file is damaged or cannot be read.
        """
        return vocabulary.of_model(self.path) if self.path else None


def installed(also: Iterable[str] = ()) -> list[Installed]:
    """All models that are here: the embedded one first, then by name.

    Args:
        also: more references that were named, such as folders of earlier chats; of hub repositories and of
            what is gone nothing is said.
    """
    found: dict[str, Installed] = {}
    for ref in ("builtin", *_converted(), *also):
        if ref not in found and (model := describe(ref)) is not None:
            found[ref] = model
    for home in _folders(hub_dir()):
        for model in _of_repository(home):
            found.setdefault(model.ref, model)
    return sorted(found.values(), key=lambda model: (model.ref != "builtin", model.name.lower(), model.ref))


def describe(ref: str) -> Installed | None:
    """What the files of a local reference or a fetched repository tell; None if it is not here."""
    try:
        reference = Reference.parse(ref)
        if reference.repository is not None:
            home = hub_dir() / f"models--{reference.repository.replace('/', '--')}"
            return next((model for model in _of_repository(home) if model.ref == ref), None)
        path = builtin.find() if reference.kind == "builtin" else reference.path
    except ModelError:
        return None
    assert path is not None
    if reference.kind == "folder":
        return _of_folder(Installed(ref, path.resolve().name, "folder", path))
    model = Installed(ref, builtin.NAME if reference.kind == "builtin" else path.stem, reference.kind, path)
    try:
        made = conversion.place(path)
    except OSError as error:
        return replace(model, problem=f"{path} cannot be read ({error.strerror or error}).")
    return _of_folder(replace(model, path=made)) if made.is_dir() else _of_gguf(model)


def _of_folder(model: Installed) -> Installed:
    assert model.path is not None
    try:
        config = check(model.path)
        size: Size | None = replace(size_of(str(model.path)), name=model.name)
    except ModelError as error:
        return replace(model, problem=error.message)
    except OSError as error:
        return replace(model, problem=f"{model.path} cannot be read ({error.strerror or error}).")
    family = str(config["model_type"])
    return replace(
        model,
        size=size,
        family=family,
        context=_entry(config, *_CONTEXT_KEYS),
        rows=_entry(config, "vocab_size"),
        problem="" if loads(family) else f"mlx-lm has no model type {family}.",
    )


def _of_gguf(model: Installed) -> Installed:
    # Only now: it imports numpy.
    from models.gguf.header import read_header

    assert model.path is not None
    try:
        header = read_header(model.path)
        family = header.text("general.architecture") or ""
        context = header.metadata.get(f"{family}.context_length")
        rows = header.tensors["token_embd.weight"].shape[0]
        size = replace(size_of(str(model.path)), name=model.name)
    except ModelError as error:
        return replace(model, problem=error.message)
    except KeyError:
        return replace(model, problem=f"{model.path} has no token embeddings.")
    except OSError as error:
        return replace(model, problem=f"{model.path} cannot be read ({error.strerror or error}).")
    return replace(
        model, size=size, family=family, context=context if isinstance(context, int) else None, rows=rows
    )


def _entry(config: dict[str, Any], *keys: str) -> int | None:
    """A size from a configuration, which multimodal models keep under `text_config`."""
    parts = [part for part in (config, config.get("text_config")) if isinstance(part, dict)]
    values = (part.get(key) for key in keys for part in parts)
    return next((value for value in values if isinstance(value, int) and value > 0), None)


def loads(family: str) -> bool:
    """Whether this mlx-lm has that type, found out without importing it."""
    spec = importlib.util.find_spec("mlx_lm")
    folders = (spec and spec.submodule_search_locations) or []
    return family in RENAMED or any((Path(place) / "models" / f"{family}.py").is_file() for place in folders)


def _converted() -> Iterator[str]:
    """References of what was converted: the GGUF file, or the conversion where the file is gone."""
    for folder in _folders(models_dir() / "converted"):
        try:
            source = str(read_json(folder / "conversion.json").get("source", ""))
            if builtin.is_builtin(Path(source)):
                continue
        except (OSError, ModelError):
            continue
        yield source if Path(source).is_file() else str(folder)


def _of_repository(home: Path) -> Iterator[Installed]:
    """What is in the hub's cache of one repository: nothing if it is no model for mlx-lm."""
    match = re.fullmatch(r"models--([\w.-]+?)--([\w.-]+)", home.name, re.ASCII)
    if match is None:
        return
    repository = f"{match[1]}/{match[2]}"
    part = sum(_size(file) for file in (home / "blobs").glob("*.part"))
    there = list(_snapshots(home, repository))
    for ref, folder in there:
        yield _of_folder(Installed(ref, match[2], "hub", folder, part=part))
    if part and not there:
        yield Installed(repository, match[2], "hub", part=part, problem="Its download is not finished.")


def _snapshots(home: Path, repository: str) -> Iterator[tuple[str, Path]]:
    """The main branch's commit, or else each commit that was fetched, where it has weights."""
    main = _commit(home / "refs" / "main")
    if main and (home / "snapshots" / main).is_dir():
        there = [(repository, home / "snapshots" / main)]
    else:
        there = [(f"{repository}@{folder.name}", folder) for folder in _folders(home / "snapshots")]
    for ref, folder in there:
        if (folder / "config.json").is_file() and any(folder.glob("model*.safetensors")):
            yield ref, folder


def _commit(ref: Path) -> str:
    """What a branch stands at; empty where its file is none that the hub's client writes."""
    try:
        if not ref.is_file():  # a pipe would wait for a writer
            return ""
        with ref.open("rb") as file:
            said = file.read(64).strip()
    except OSError:
        return ""
    return said.decode() if re.fullmatch(rb"[0-9a-f]{40}", said) else ""


def _size(part: Path) -> int:
    try:
        return part.stat().st_size
    except OSError:  # the download that runs has just completed it
        return 0


def _folders(place: Path) -> list[Path]:
    """The first folders of a place by name; none if there is no such place, or it may not be read."""
    try:
        with os.scandir(place) as entries:
            folders = [Path(entry.path) for entry in entries if entry.is_dir() and entry.name[0] != "."]
    except OSError:
        return []
    return sorted(folders)[:MOST]
