"""The status line: always words and a symbol, always as much as fits."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from app.thread.events import Snapshot
from app.tui.status import Facts, State, line

SNAPSHOT = Snapshot(4, 123.4, 0.714, 3.857, 0.4231, 7812, 99, "speculating", "lookup")
FACTS = Facts(State.GENERATING, SNAPSHOT, 8192)


def test_short_words_at_80_columns() -> None:
    assert (
        line(FACTS, 76).plain
        == "● generating  K 4  123 tok/s  rate 71%  len 3.86  TTFT 0.42 s  ctx 7812/8192"
    )


def test_full_words_at_160_columns() -> None:
    assert line(FACTS, 156).plain == (
        "● generating   K 4   123 tokens/s   acceptance rate 71%   acceptance length 3.86   "
        "first token 0.42 s   context 7812/8192 tokens"
    )


def test_what_is_not_known_is_a_dash() -> None:
    assert line(Facts(), 76).plain == "◌ loading   K -   - tok/s   rate -   length -   TTFT -   ctx -/-"


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("width", [*range(1, 40), 56, 76, 100, 156])
def test_it_fits_any_width_and_names_the_state_where_there_is_room(state: State, width: int) -> None:
    text = line(Facts(state, SNAPSHOT, 131072), width).plain
    assert cell_len(text) <= width
    if width >= 16:
        assert text.startswith(f"{state.value[0]} {state.value[1]}")


def test_how_far_a_prompt_is_read_stands_next_to_the_state() -> None:
    facts = Facts(State.READING, SNAPSHOT, 8192, read=(1024, 6000))
    for width in (40, 76, 156):
        assert line(facts, width).plain.startswith("◐ reading prompt 1,024/6,000")
    assert "6,000" not in line(Facts(State.GENERATING, SNAPSHOT, 8192, read=(1024, 6000)), 156).plain
