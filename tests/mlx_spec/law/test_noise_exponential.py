"""The exponential variate behind every draw is exact where it decides races: near 0."""

from __future__ import annotations

import mlx.core as mx
import numpy as np

from mlx_spec.law.noise import _exponential


def test_it_is_minus_log_of_one_minus_v_to_float32_precision():
    v = np.concatenate([np.logspace(-10, -1.4, 2000), np.linspace(0.0, 0.9999, 4000)[1:]]).astype(np.float32)
    exact = -np.log1p(-v.astype(np.float64))
    ours = np.array(_exponential(mx.array(v)), dtype=np.float64)
    assert np.max(np.abs(ours / exact - 1)) < 2e-6
