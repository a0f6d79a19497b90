"""Prompts: the set that comes with specchat, a user's file, or turns from elsewhere, all by one loader.

The set is the TOML files beside this one, written for specchat and given away under CC0. A prompt has

    id          unique in its set; a number where a file gives none
    class       what is asked for, such as "summary"; results are shown by class
    prompt      one user message, or instead of it
    turns       messages with "role" and "content"; a system message may come first, then user and
                assistant take turns, and a user has the last word
    sampling    options of `Sampling` that this prompt wants otherwise, such as a temperature
    max_tokens  of the answer, at most
    quick       whether it belongs to the quick subset
    licence     of its text

and whatever else an entry has is not read. `class`, `licence` and `max_tokens` may stand at the top of
a TOML file for all of its entries.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bench.prompts.entry import Prompt, of_entry
from mlx_spec.errors import SpecError

VERSION = "1"  # of the set that comes with specchat; any change of its content is a new version
LARGEST_FILE = 16 << 20  # bytes
MOST_PROMPTS = 20_000

_FOR_ALL = ("class", "licence", "max_tokens")


class PromptsError(SpecError):
    """A set of prompts cannot be used as it is."""


@dataclass(frozen=True)
class PromptSet:
    """Prompts that are measured together.

    Attributes:
        name: where they come from.
        prompts: in their order.
        version: of the set that comes with specchat; None for others.
    """

    name: str
    prompts: tuple[Prompt, ...]
    version: str | None = None

    @property
    def sha256(self) -> str:
        """Hash of everything that a run depends on: two runs with one hash had the same prompts."""
        content = [dataclasses.asdict(dataclasses.replace(each, quick=False)) for each in self.prompts]
        text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def groups(self) -> tuple[str, ...]:
        """The classes, in the order of their first prompts."""
        return tuple(dict.fromkeys(each.group for each in self.prompts))

    def quick(self) -> PromptSet:
        """The quick subset; of a set that marks none, everything."""
        marked = tuple(each for each in self.prompts if each.quick)
        return dataclasses.replace(self, prompts=marked or self.prompts)

    def as_object(self) -> dict[str, Any]:
        """What a report says about its prompts."""
        return {
            "name": self.name,
            "version": self.version,
            "sha256": self.sha256,
            "prompts": len(self.prompts),
            "classes": {group: sum(p.group == group for p in self.prompts) for group in self.groups},
        }


@cache
def builtin() -> PromptSet:
    """The set that comes with specchat."""
    entries: list[Mapping[str, Any]] = []
    for file in sorted(Path(__file__).parent.glob("*.toml")):
        entries += _of_toml(file.read_text(encoding="utf-8"), str(file))
    return collect("specchat", entries, version=VERSION)


def read(file: Path) -> PromptSet:
    """A user's prompts.

    Args:
        file: `.toml` as in this folder; otherwise JSON lines with "prompt" or "turns" if the first line
            is a JSON object, or else text with one prompt a line.

    Raises:
        PromptsError: the file cannot be read, holds no prompt, or one that makes no sense.
    """
    text = _text(file)
    if file.suffix.lower() == ".toml":
        return collect(file.name, _of_toml(text, str(file)), where=str(file))
    lines = [line for line in text.split("\n") if line.strip()]
    if lines and isinstance(_parsed(lines[0]), dict):
        return collect(file.name, map(_parsed, lines), where=str(file))
    return collect(file.name, ({"prompt": line.strip()} for line in lines), where=str(file))


def collect(
    name: str, entries: Iterable[Any], *, version: str | None = None, where: str | None = None
) -> PromptSet:
    """A set of entries as the head of this file describes them.

    Args:
        name: of the set.
        entries: mappings; anything else is an error that names its place.
        version: of the set.
        where: what a complaint calls the place of the entries; None is the name.

    Raises:
        PromptsError: an entry makes no sense, two have one id, or there are none or too many.
    """
    where = where or name
    prompts: dict[str, Prompt] = {}
    for i, entry in enumerate(entries, start=1):
        if i > MOST_PROMPTS:
            raise PromptsError(f"{where} holds more than {MOST_PROMPTS} prompts.", "Split it.")
        try:
            prompt = of_entry(entry, str(i))
            if prompt.id in prompts:
                raise ValueError(f"has the id {prompt.id!r} of an earlier one")
        except ValueError as error:
            raise PromptsError(
                f"{where}: entry {i} {error}.",
                'Write {"prompt": "..."} or {"turns": [{"role": "user", "content": "..."}]} for each, '
                "or plain text on every line.",
            ) from None
        prompts[prompt.id] = prompt
    if not prompts:
        raise PromptsError(f"{where} holds no prompt.", "Write one a line.")
    return PromptSet(name, tuple(prompts.values()), version)


def _text(file: Path) -> str:
    try:
        # Before it is opened: a pipe would wait for a writer, a device has no end.
        if file.exists() and not file.is_file():
            raise PromptsError(f"{file} cannot be read: it is no file.", "Name a file.")
        if file.stat().st_size > LARGEST_FILE:
            raise PromptsError(f"{file} is larger than {LARGEST_FILE >> 20} MB.", "Split it.")
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise PromptsError(f"{file} is not UTF-8.", "Save it as UTF-8.") from None
    except OSError as error:
        raise PromptsError(f"{file} cannot be read: {error.strerror}.", "Name another file.") from None


def _of_toml(text: str, where: str) -> list[Any]:
    """The entries of a TOML file, each with what stands at the top for all of them."""
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise PromptsError(f"{where} is not valid TOML: {str(error)[:120]}.", "Correct it.") from None
    entries = table.get("prompts", [])
    if not isinstance(entries, list):
        raise PromptsError(f"{where} has no list [[prompts]].", "Begin each prompt with [[prompts]].")
    common = {key: table[key] for key in _FOR_ALL if key in table}
    return [{**common, **entry} if isinstance(entry, dict) else entry for entry in entries]


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):  # no JSON, or more digits or brackets than Python reads
        return None
