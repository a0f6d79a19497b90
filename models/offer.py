"""A better pair than the embedded model, for the memory that there is. The data is `offers.json`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from models.amount import in_bytes
from models.need import CONTEXT, Need
from models.reference import Reference

SHARE = 0.5  # of the memory, so that an offer leaves room for a long chat and for other programs


@dataclass(frozen=True)
class Part:
    """A model of a pair.

    Attributes:
        ref: its hub repository.
        name: for people.
        nbytes: of its weights, as published.
        kv_bytes: of KV cache a token; None if nobody told.
        license: as its repository names it.
        source: where the size was read.
    """

    ref: str
    name: str
    nbytes: float
    kv_bytes: float | None
    license: str
    source: str


@dataclass(frozen=True)
class Offer:
    """A pair that fits.

    Attributes:
        target, draft: its models.
        need: of both, in memory.
    """

    target: Part
    draft: Part
    need: Need

    @property
    def refs(self) -> tuple[str, ...]:
        """What would be downloaded."""
        return self.target.ref, self.draft.ref

    def sentences(self, memory: float) -> list[str]:
        """What it is and what it needs."""
        parts = (self.target, self.draft)
        download = sum(part.nbytes for part in parts)
        licenses = ", ".join(dict.fromkeys(part.license for part in parts))
        return [
            f"{self.target.name} answers, {self.draft.name} drafts: {in_bytes(download)} to download.",
            self.need.sentence(memory),
            f"Licences: {licenses}.",
        ]


def offer(memory_bytes: float) -> list[Offer]:
    """The pairs that fit a machine with so much memory well, the largest first."""
    return sorted(
        (pair for pair in pairs() if pair.need.total <= SHARE * memory_bytes),
        key=lambda pair: -pair.target.nbytes,
    )


@cache
def pairs() -> tuple[Offer, ...]:
    """All pairs of the data."""
    data = json.loads(Path(__file__).with_name("offers.json").read_text("utf-8"))
    parts = {key: _part(entry) for key, entry in data["models"].items()}
    return tuple(_offer(parts[pair["target"]], parts[pair["draft"]]) for pair in data["pairs"])


def _part(entry: dict[str, Any]) -> Part:
    ref = Reference.parse(entry["ref"]).text
    kv = entry["kv_bytes"]
    return Part(ref, entry["name"], entry["bytes"], kv, entry["license"], entry["size_source"])


def _offer(target: Part, draft: Part) -> Offer:
    entries = (target.kv_bytes, draft.kv_bytes)
    kv = None if None in entries else sum(entry or 0.0 for entry in entries) * CONTEXT
    return Offer(target, draft, Need(target.nbytes + draft.nbytes, kv, CONTEXT))
