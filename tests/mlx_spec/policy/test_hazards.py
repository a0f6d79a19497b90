"""Acceptance by position, from rounds that each tell only part of it."""

from __future__ import annotations

import math
import random

import pytest

from mlx_spec.policy.hazards import Hazards, emitted


def without_memory_or_prior(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Hazards, "FORGET", 1.0)
    monkeypatch.setattr(Hazards, "STRENGTH", 1e-12)
    monkeypatch.setattr(Hazards, "FIRST_STRENGTH", 1e-12)
    monkeypatch.setattr(Hazards, "CHANGED", math.inf)


def test_a_hazard_is_what_passed_over_what_was_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    without_memory_or_prior(monkeypatch)
    hazards = Hazards(3)
    for drafted, accepted in ((3, 3), (3, 0), (3, 1), (1, 1), (2, 2)):
        hazards.observe(drafted, accepted)
    # Position 1 was reached by all five, 2 by three that went so far, 3 by one.
    assert hazards.rates == pytest.approx([4 / 5, 2 / 3, 1.0])
    assert hazards.survival(2) == pytest.approx(4 / 5 * 2 / 3)


def test_a_short_draft_does_not_tell_against_later_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    without_memory_or_prior(monkeypatch)
    hazards = Hazards(2)
    for _ in range(9):
        hazards.observe(1, 1)
    hazards.observe(2, 2)
    assert hazards.rates == pytest.approx([1.0, 1.0])


def test_one_forgotten_round_weighs_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    without_memory_or_prior(monkeypatch)
    monkeypatch.setattr(Hazards, "FORGET", 0.5)
    hazards = Hazards(1)
    hazards.observe(1, 1)
    hazards.observe(1, 0)
    assert hazards.rates == pytest.approx([0.5 / 1.5])


def test_beyond_what_was_seen_the_last_hazard_goes_on() -> None:
    hazards = Hazards(7)
    for _ in range(100):
        hazards.observe(2, 2)
    assert hazards.rates[2:] == pytest.approx([hazards.rates[1]] * 5)


def test_position_by_position_where_pooled_acceptance_would_mislead() -> None:
    rng = random.Random(1)
    truth = [0.5, 0.9, 0.95, 0.95]
    hazards = Hazards(4)
    for _ in range(400):
        accepted = 0
        while accepted < 4 and rng.random() < truth[accepted]:
            accepted += 1
        hazards.observe(4, accepted)
    assert hazards.rates == pytest.approx(truth, abs=0.12)
    low, high = hazards.bounds(1)
    assert low < 0.5 < high


def test_text_that_changes_is_noticed_within_a_few_rounds() -> None:
    hazards = Hazards(7)
    for _ in range(60):
        hazards.observe(7, 7)
    for _ in range(4):
        hazards.observe(7, 0)
    assert hazards.changes == 1
    assert hazards.rates[0] < 0.6


def test_steady_text_is_not_taken_for_one_that_changes() -> None:
    rng = random.Random(2)
    hazards = Hazards(4)
    for _ in range(1000):
        accepted = 0
        while accepted < 4 and rng.random() < 0.8:
            accepted += 1
        hazards.observe(4, accepted)
    assert hazards.changes <= 2


def test_a_source_that_seldom_proposes_is_known_for_it() -> None:
    hazards = Hazards(2)
    for n in range(200):
        hazards.observe(2 if n % 4 == 0 else 0, 0)
    assert hazards.proposal_rate == pytest.approx(0.25, abs=0.05)


def test_hope_rises_with_the_tokens_that_nobody_tested() -> None:
    hazards = Hazards(3)
    for _ in range(50):
        hazards.observe(1, 0)
    now, later = hazards.hopeful(0), hazards.hopeful(600)
    assert hazards.rates[0] < now[0] < 0.15
    assert later[0] > 0.5


def test_tokens_of_a_round_are_one_and_the_survivals() -> None:
    assert emitted([0.5, 0.5]) == [1.0, 1.5, 1.75]


def test_hazards_survive_a_passage_through_json() -> None:
    hazards = Hazards(4)
    for n in range(30):
        hazards.observe(4, n % 5)
    hazards.observe(0, 0)
    again = Hazards.from_dict(hazards.as_dict(), 4)
    assert again.rates == hazards.rates
    assert again.proposal_rate == hazards.proposal_rate
    assert Hazards.from_dict(hazards.as_dict(), 6).rates[:4] == hazards.rates


def test_proposals_that_come_in_passages_are_expected_to_go_on_and_to_stay_away() -> None:
    hazards = Hazards(2)
    for n in range(200):
        hazards.observe(2 if n // 20 % 2 else 0, 0)
    assert hazards.next_proposal > 0.9
    hazards.observe(0, 0)
    assert hazards.next_proposal < 0.2


def test_a_source_that_always_proposes_is_expected_to() -> None:
    hazards = Hazards(2)
    for _ in range(50):
        hazards.observe(2, 0)
    assert hazards.next_proposal == 1.0
