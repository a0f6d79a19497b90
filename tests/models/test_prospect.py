"""What is known of a model before it is fetched."""

from __future__ import annotations

from typing import Any

import pytest
from tiny import tiny_config

from models.curves import Chip
from models.hub import Listing
from models.prospect import of_listing

GB = 10**9


def listing(**changes: Any) -> Listing:
    config = {**tiny_config(), "torch_dtype": "bfloat16", "quantization": {"bits": 4}, **changes}
    return Listing("someone/model", "c" * 40, 4 * GB, 4 * GB, 3 * GB, config)


def test_it_says_what_is_to_come_and_what_it_needs() -> None:
    found = of_listing("someone/model", listing())
    assert found.problem == ""
    download, needs = found.sentences(16 * GB)
    assert download == "3.0 GB to download."
    assert needs.startswith("It fits: needs 4.0 GB of 16.0 GB")


def test_on_a_known_chip_a_speed_is_expected_and_called_so() -> None:
    chip = Chip.parse("M4 Pro")
    *_, speed = of_listing("someone/model", listing()).sentences(16 * GB, chip)
    assert speed.startswith("Plain decoding on an M4 Pro: ")
    assert speed.endswith("tokens/s expected, not measured.")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"model_type": "whisper-odd"}, "mlx-lm has no model type whisper-odd."),
        ({"model_file": "x.py"}, "Its config.json asks to run code that comes with it, which is never done."),
    ],
)
def test_what_could_not_be_loaded_is_told_before(changes: dict[str, Any], problem: str) -> None:
    found = of_listing("someone/model", listing(**changes))
    assert found.problem == problem
    assert problem in found.sentences(16 * GB)


def test_without_a_configuration_its_need_is_not_known() -> None:
    bare = Listing("someone/model", "c" * 40, GB, GB, 0, None)
    sentences = of_listing("someone/model", bare).sentences(16 * GB)
    assert sentences[0] == "All of it is here already."
    assert sentences[-1] == "What it needs in memory is not known."
