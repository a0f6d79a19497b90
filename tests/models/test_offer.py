"""Pairs that fit a machine's memory: data with its sources, and nothing claimed that nobody told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import models
from models.offer import offer, pairs

GIB = 1 << 30
DATA = json.loads((Path(models.__file__).parent / "offers.json").read_text())


def test_every_number_has_its_source() -> None:
    for entry in DATA["models"].values():
        assert entry["bytes"] > 0
        assert entry["size_source"]
        assert (entry["kv_bytes"] is None) == (entry["shape_source"] is None)


@pytest.mark.parametrize(
    ("gib", "largest"),
    [(8, "Qwen2.5 3B"), (16, "Qwen2.5 7B"), (24, "Qwen2.5 14B"), (48, "Qwen2.5 32B"), (96, "Llama 3.3 70B")],
)
def test_the_largest_that_leaves_room_comes_first(gib: int, largest: str) -> None:
    found = offer(gib * GIB)
    assert all(each.need.fit(gib * GIB) == "fits" for each in found)
    assert [each.target.nbytes for each in found] == sorted((e.target.nbytes for e in found), reverse=True)
    assert found[0].target.name == largest


def test_a_machine_with_little_memory_is_offered_nothing_that_does_not_fit() -> None:
    assert offer(2 * GIB) == []
    assert len(offer(128 * GIB)) == len(pairs())


def test_the_draft_is_much_smaller_than_its_target() -> None:
    assert all(pair.draft.nbytes * 5 < pair.target.nbytes for pair in pairs())


def test_what_is_not_known_is_said() -> None:
    pair = next(pair for pair in pairs() if pair.target.kv_bytes is None)
    assert "what its context takes is not known" in " ".join(pair.sentences(128 * GIB))


def test_an_offer_names_the_download_and_the_licences() -> None:
    (smallest,) = (pair for pair in pairs() if pair.target.name == "Qwen2.5 3B")
    assert smallest.sentences(8 * GIB) == [
        "Qwen2.5 3B answers, Qwen2.5 0.5B drafts: 2.0 GB to download.",
        "It fits: needs 2.4 GB of 8.6 GB (2.0 GB of weights, 403 MB for 8,192 tokens).",
        "Licences: qwen-research (no commercial use), apache-2.0.",
    ]
