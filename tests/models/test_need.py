"""Memory that a pair needs, in numbers and in a sentence."""

import pytest

from models.amount import in_bytes, in_time
from models.need import Need, machine_memory, need
from models.size import size_of

GB = 1e9


def test_a_pair_needs_both_weights_and_both_caches() -> None:
    found = need([size_of("7B@4bit"), size_of("0.5B@4bit")])
    assert found.weights == pytest.approx(7.5e9 * 4.5 / 8)
    assert found.kv is None


@pytest.mark.parametrize(("weights", "fit"), [(10, "fits"), (11, "tight"), (12.5, "too large")])
def test_a_part_of_the_memory_is_for_other_things(weights: float, fit: str) -> None:
    assert Need(weights * GB, 0.0, 8192).fit(16 * GB) == fit


def test_the_sentence_says_what_is_not_known() -> None:
    assert Need(4.3 * GB, None, 8192).sentence(16 * GB) == (
        "It fits: needs 4.3 GB of 16.0 GB (4.3 GB of weights; what its context takes is not known)."
    )
    assert Need(40 * GB, 2 * GB, 8192).sentence(16 * GB) == (
        "It is too large: needs 42.0 GB of 16.0 GB (40.0 GB of weights, 2.0 GB for 8,192 tokens). "
        "A model may use about 10.4 GB here."
    )


def test_this_machine_has_memory() -> None:
    assert machine_memory() > 100e6


def test_amounts_are_in_words() -> None:
    assert [in_bytes(n) for n in (12, 1234, 99_960_000, 999_600_000, 4.28e9)] == [
        "12 bytes", "1.2 KB", "100 MB", "1.0 GB", "4.3 GB",
    ]  # fmt: skip
    assert [in_time(s) for s in (7.6, 59.4, 61, 200, 4800)] == ["8 s", "59 s", "1 min", "3 min", "1 h 20 min"]
