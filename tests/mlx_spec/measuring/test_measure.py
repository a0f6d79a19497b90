"""The engine measures while nobody waits; controller, verdict and the next run count with it."""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import Any

import pytest
from tiny import tiny_loaded

from mlx_spec import Engine, Limits
from mlx_spec.measuring import measured, probe
from mlx_spec.policy.auto import K_MAX, AutoK
from mlx_spec.policy.costs import Costs
from mlx_spec.policy.step import Step
from mlx_spec.policy.table import CostTable

PROMPT = [30, 31, 32, 33, 40]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiny models are measured in milliseconds, which any other program disturbs."""
    monkeypatch.setattr(measured, "STEADY", math.inf)


def engine(draft: Any = "self", **options: Any) -> Engine:
    return Engine(tiny_loaded("llama"), draft, **options)


def answer(made: Engine, prompt: list[int] = PROMPT, tokens: int = 24) -> list[int]:
    return [t for r in made.generate(prompt, limits=Limits(max_tokens=tokens)) for t in r.tokens]


def measure(made: Engine, calls: int = 10_000) -> int:
    """Measure for so many calls at most; how many there were."""
    going: Generator[None, None, None] = made.measure()
    done = sum(1 for _, _ in zip(range(calls), going, strict=False))
    going.close()
    return done


def table(made: Engine) -> Any:
    record = made._controller.record
    assert record is not None
    return record.costs.table


def test_before_the_first_prompt_it_measures_and_the_answers_stay_the_same() -> None:
    fresh, measured = engine(k=3), engine(k=3)
    assert measure(measured) > 20
    assert measured.session.target.rows == 0
    assert answer(measured) == answer(fresh)


@pytest.mark.parametrize("draft", ["lookup", "self"])
@pytest.mark.parametrize("calls", [1, 7, 30, 10_000])
def test_between_two_turns_it_may_be_left_anywhere(draft: str, calls: int) -> None:
    fresh, measured = engine(draft, k=3), engine(draft, k=3)
    first = answer(fresh)
    assert answer(measured) == first
    measure(measured, calls)
    turn = [*PROMPT, *first, 8, 8]
    assert answer(measured, turn) == answer(fresh, turn)
    assert measured.metrics.reused_tokens == fresh.metrics.reused_tokens


def test_what_it_finds_is_what_the_controller_counts_with() -> None:
    made = engine()
    assert isinstance(made._controller, AutoK)
    assert table(made) is None
    measure(made)
    assert set(table(made).verify) >= {1, 2, 3, 5, K_MAX + 1}
    assert table(made).fresh
    assert set(table(made).draft) == {1, 3}
    ratios = made._controller.record.costs.ratios
    assert ratios == pytest.approx([table(made).round(k) / table(made).plain for k in range(len(ratios))])
    assert set(made.metrics.speculation()["verify_cost"]) >= {"1", "2", "5"}


def test_what_rounds_told_before_outweighs_what_is_measured_later() -> None:
    costs = Costs((), K_MAX)
    for _ in range(30):
        for step in (Step(2, 2, 3, 0.5), Step(0, 0, 1, 0.1), Step(0, 0, 1, 0.1), Step(0, 0, 1, 0.1)):
            costs.observe(step)
    told = costs.ratios[2]
    assert told == pytest.approx(5, rel=0.05)
    costs.learn(CostTable(100, 0.1, {1: 0.1, 3: 0.2, 5: 0.3}))
    assert costs.ratios[2] == pytest.approx(told)
    assert costs.ratios[4] > 3, "and its neighbours are taken to be dearer as well"


def test_a_model_that_has_not_read_the_text_is_timed_on_its_end() -> None:
    made = engine(draft="self")
    made._controller.record.catch_up.price = 100.0  # type: ignore[union-attr]
    answer(made, [*PROMPT * 12])
    assert made.source.cached.rows == 0  # type: ignore[union-attr]
    measure(made)
    assert set(table(made).draft) == {1, 3}
    assert made.source.cached.rows <= 16  # type: ignore[union-attr]
    assert answer(made, [*PROMPT * 12]) == answer(engine(draft=None), [*PROMPT * 12])


def test_a_depth_is_measured_once() -> None:
    made = engine()
    assert measure(made)
    assert measure(made) == 0
    answer(made)
    assert measure(made) == 0


@pytest.mark.parametrize("options", [{"draft": None}, {"k": 0}])
def test_nothing_is_measured_that_nobody_would_use(options: dict[str, Any]) -> None:
    made = engine(**options)
    assert measure(made) == 0
    assert made.learnt() == {"depths": {}, "controller": None}
    assert made.verdict.kind == "off"


def test_an_interrupted_measurement_is_used_but_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "BUDGET", 1e9)
    made = engine()
    measure(made, 30)
    assert table(made) is not None
    assert made.learnt()["depths"] == {}
    assert measure(made)


def test_a_fixed_k_is_compared_with_plain_steps_that_are_measured_after_its_rounds() -> None:
    made = engine(k=3)
    answer(made, tokens=120)
    assert made.metrics.speculation()["speedup"] is None
    measure(made)
    speedup = made.metrics.speculation()["speedup"]
    assert speedup["low"] <= speedup["value"] <= speedup["high"]


def test_a_fixed_k_of_a_known_pair_measures_little_each_time_and_others_nothing() -> None:
    before = engine(k=3)
    calls = measure(before)
    after = engine(k=3)
    after.recall(**before.learnt())
    assert not table(after).fresh
    assert 0 < measure(after) < calls
    assert table(after).fresh
    assert table(after).ratio(4) == pytest.approx(table(before).ratio(4))
    assert measure(after) == 0


def test_a_spoilt_measurement_is_said_and_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "STEADY", 0.0)
    made = engine()
    measure(made)
    assert made.metrics.spoilt
    assert table(made) is None
    assert made.learnt()["depths"] == {}
    assert measure(made), "the next pause tries again"


def test_another_run_starts_with_what_was_learnt() -> None:
    before = engine()
    measure(before)
    answer(before)
    after = engine()
    after.recall(**before.learnt())
    assert table(after).verify == pytest.approx(table(before).verify)
    assert not table(after).fresh
    assert measure(after) == 0
    assert answer(after) == answer(before)
    assert after.learnt()["depths"] == before.learnt()["depths"]


def test_a_failure_while_measuring_leaves_an_engine_that_works() -> None:
    made, fresh = engine(), engine()
    answer(made)
    forward = made.session.target.forward
    going = made.measure()
    next(going)

    def fails(tokens: Any) -> Any:
        forward(tokens)
        raise RuntimeError("out of memory")

    made.session.target.forward = fails  # type: ignore[method-assign]
    with pytest.raises(RuntimeError):
        next(going)
    made.session.target.forward = forward  # type: ignore[method-assign]
    assert answer(made) == answer(fresh)
