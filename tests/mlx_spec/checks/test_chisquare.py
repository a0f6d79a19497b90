"""The chi-square test against textbook values, and its stated power against simulation."""

from __future__ import annotations

import numpy as np
import pytest

from mlx_spec.checks.chisquare import detectable, fit, survival


@pytest.mark.parametrize(
    ("x", "freedom", "tail"),
    [(3.841459, 1, 0.05), (5.991465, 2, 0.05), (18.307038, 10, 0.05), (11.344867, 3, 0.01), (0, 5, 1.0)],
)
def test_tails_are_those_of_the_tables(x: float, freedom: int, tail: float) -> None:
    assert survival(x, freedom) == pytest.approx(tail, rel=1e-5)


def test_a_right_law_fails_as_often_as_the_level_says() -> None:
    random = np.random.default_rng(0)
    law = random.dirichlet(np.full(50, 0.3))
    values = np.array([fit(random.multinomial(5000, law), law).p_value for _ in range(2000)])
    assert 0.03 < (values < 0.05).mean() < 0.07
    assert (values < 1e-4).mean() < 0.003


def test_the_stated_deviation_is_noticed_as_often_as_stated() -> None:
    random = np.random.default_rng(0)
    law = np.full(20, 1 / 20)
    shift = detectable(20, 10_000, level=1e-4, power=0.95)
    # The shape that is hardest to notice: every token off by the same share.
    other = law * np.where(np.arange(20) % 2, 1 + 2 * shift, 1 - 2 * shift)
    noticed = [fit(random.multinomial(10_000, other), law).p_value < 1e-4 for _ in range(1000)]
    assert 0.92 < np.mean(noticed) < 0.98


def test_a_token_that_the_law_forbids_is_enough() -> None:
    assert fit(np.array([9_999, 0, 1]), np.array([0.5, 0.5, 0.0])).p_value == 0


def test_rare_tokens_are_pooled_and_a_certain_one_tests_nothing() -> None:
    assert fit(np.array([900, 98, 1, 1]), np.array([0.9, 0.098, 0.001, 0.001])).bins == 2
    assert fit(np.array([1000, 0]), np.array([0.999, 0.001])).bins == 1
