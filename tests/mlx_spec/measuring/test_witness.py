"""What a parked source would have proposed is compared with what is committed, seldom and for free."""

from __future__ import annotations

import pytest
from answers import answer, fresh_answer
from paced import PARALLEL, Backend, table
from recorded import Recorded
from tiny import tiny_loaded

from mlx_spec import Engine
from mlx_spec.drafts.base import NOTHING, Draft
from mlx_spec.drafts.model import ModelDraft
from mlx_spec.measuring.witness import Witness
from mlx_spec.policy.auto import AutoK, k_max
from mlx_spec.policy.controller import State
from mlx_spec.policy.step import Step

PROMPT = [30, 31, 32, 33, 40, 30, 31]
TEXT = list(range(100, 200))


class Told:
    """A controller that notes what it is told."""

    most = 4
    state: State = "parked"

    def __init__(self) -> None:
        self.heard: list[tuple[int, int]] = []

    def witness(self, drafted: int, accepted: int) -> None:
        self.heard.append((drafted, accepted))


class Source(Recorded):
    """Counts how often it is asked, and may have nothing."""

    asked = 0
    silent = False

    def propose(self, k: int) -> Draft:
        self.asked += 1
        return NOTHING if self.silent else super().propose(k)


def write(source: Source, told: Told, tokens: int) -> Witness:
    witness = Witness(source, told)  # type: ignore[arg-type]
    for token in TEXT[:tokens]:
        source.commit([token], 0)
        witness.commit([token])
    return witness


def test_a_source_that_is_right_is_seen_to_be_draft_after_draft() -> None:
    told = Told()
    write(Source(TEXT), told, 21)
    assert told.heard == [(4, 4)] * 5


def test_a_draft_counts_up_to_its_first_error() -> None:
    told = Told()
    write(Source(TEXT, wrong={3}), told, 5)
    assert told.heard == [(4, 2)]


def test_a_source_that_is_wrong_is_asked_seldom() -> None:
    told = Told()
    source = Source(TEXT, wrong=range(100))
    write(source, told, 90)
    assert set(told.heard) == {(4, 0)}
    assert source.asked <= 90 / Witness.EVERY


def test_a_source_with_nothing_is_seen_to_have_nothing() -> None:
    told = Told()
    source = Source(TEXT)
    source.silent = True
    write(source, told, 20)
    assert told.heard == [(0, 0)] * 3


@pytest.mark.parametrize("state", ["measuring", "speculating"])
def test_while_rounds_tell_more_nothing_is_asked(state: State) -> None:
    told = Told()
    told.state = state
    source = Source(TEXT)
    write(source, told, 20)
    assert (source.asked, told.heard) == (0, [])


def witnessed(backend: Backend, controller: AutoK, tokens: int) -> list[tuple[int, int]]:
    """Position and K of each step, while a parked source's drafts are compared with the text."""
    seen: list[tuple[int, int]] = []
    checked = 0
    while backend.position < tokens:
        if controller.state != "parked":
            checked = backend.position
        elif backend.position >= checked + controller.most:
            stands = backend.hazard(checked) > 0.5
            controller.witness(controller.most, controller.most if stands else 0)
            checked = backend.position + (0 if stands else Witness.EVERY)
        k = controller.next_k()
        seen.append((backend.position, k))
        controller.observe(backend.step(k))
    return seen


@pytest.mark.parametrize("seed", range(5))
def test_prose_that_turns_into_copying_is_followed_within_a_few_dozen_tokens(seed: int) -> None:
    turn = 1000
    backend = Backend(table(PARALLEL), lambda position: 0.02 if position < turn else 0.97, seed=seed)
    controller = AutoK("s", [backend.table])
    steps = witnessed(backend, controller, turn + 100)
    first = next(position for position, k in steps if position >= turn and k >= 4)
    assert first - turn <= 48
    assert backend.ks.count(0) >= 0.9 * turn, "and prose stays plain"


def test_a_text_that_is_copied_ends_the_rest_after_a_loss_and_one_that_is_not_does_not() -> None:
    backend = Backend(table(PARALLEL), lambda position: 0.02)
    resting = AutoK("s", [backend.table])
    while not resting._rest:  # the controller as evidence of a loss leaves it
        k = resting.next_k() or 4
        resting.observe(Step(k, k, 1, 2 * backend.table.round(k), 100))
    for _ in range(8):
        resting.witness(7, 1)
    resting.observe(Step(0, 0, 1, backend.table.plain, 100))
    assert resting.next_k() == 0
    for _ in range(8):
        resting.witness(7, 7)
    for _ in range(12):  # plain steps, until the loss budget allows a round
        resting.observe(Step(0, 0, 1, backend.table.plain, 100))
    assert resting._rest == 0


@pytest.fixture
def parked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Every controller is parked; what it is told is noted."""
    heard: list[tuple[int, int]] = []
    monkeypatch.setattr(AutoK, "state", "parked")
    monkeypatch.setattr(AutoK, "next_k", lambda controller: 0)
    monkeypatch.setattr(AutoK, "witness", lambda controller, *counts: heard.append(counts))
    return heard


def test_a_parked_lookup_learns_from_the_text_that_it_does_not_draft(parked: list[tuple[int, int]]) -> None:
    target = tiny_loaded("llama")
    got = answer(Engine(target, "lookup"), PROMPT, max_tokens=60)
    assert got == fresh_answer(target, PROMPT, max_tokens=60)
    assert parked
    assert all(0 <= accepted <= drafted <= k_max(free=True) for drafted, accepted in parked)


def test_a_parked_model_is_not_asked(parked: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(ModelDraft, "propose")
    answer(Engine(tiny_loaded("llama"), "self"), PROMPT, max_tokens=20)
    assert parked == []
