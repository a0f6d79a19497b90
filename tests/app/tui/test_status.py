"""The status line: always words and a symbol, always as much as fits."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from rich.cells import cell_len
from screenplay import PARKED, PAYING

from app.thread.events import Snapshot
from app.tui.status import Facts, State, line
from mlx_spec.verdict.diagnose import Verdict

MEASURING = Verdict("measuring", None, "Measuring.", {})

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


@pytest.mark.parametrize("verdict", [None, PARKED, PAYING, MEASURING])
@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("width", range(16, 110))
def test_fields_go_before_the_gaps_between_them_do(state: State, verdict: Verdict | None, width: int) -> None:
    text = line(Facts(state, replace(SNAPSHOT, tok_s=2.7, verdict=verdict), 8192), width).plain
    fields = re.findall(
        r"K 4|[\d.]+ tok\S+|(?:acc\S+ )?rate 71%|(?:acc\S+ )?len\S* 3.86|c\S*t\S* 7812/8192", text
    )
    assert all(f"  {field}" in text for field in fields), text


def test_the_time_to_the_first_token_goes_first() -> None:
    facts = Facts(State.READY, replace(SNAPSHOT, k=0, tok_s=None, verdict=PARKED), 8192)
    words = "○ ready  ‖ parked: verification  K 0  - tok/s  rate 71%  len 3.86  ctx 7812/8192"
    assert line(facts, cell_len(words)).plain == words


def test_who_drafts_is_not_parked() -> None:
    """A parked source's first few tries are no measurement to the controller; K says that they are made."""
    parked = replace(PARKED, now="parked")
    for width in range(30, 160):
        tried = line(Facts(State.GENERATING, replace(SNAPSHOT, verdict=parked), 8192), width).plain
        assert "tried again" in tried or "‖" not in tried
        rests = line(Facts(State.GENERATING, replace(SNAPSHOT, k=0, verdict=parked), 8192), width).plain
        assert "tried" not in rests


def test_how_far_a_prompt_is_read_stands_next_to_the_state() -> None:
    facts = Facts(State.READING, SNAPSHOT, 8192, read=(1024, 6000))
    for width in (40, 76, 156):
        assert line(facts, width).plain.startswith("◐ reading prompt 1,024/6,000")
    assert "6,000" not in line(Facts(State.GENERATING, SNAPSHOT, 8192, read=(1024, 6000)), 156).plain
