"""Is plain decoding as fast as mlx-lm's? The goal is at least 0.97 of it on both backends.

It is the baseline that a speedup is told against, so a slow one would make every speedup a lie.
"""

from __future__ import annotations

import sys

from bench import ways
from bench.comparison import Comparison, run

COMPARISON = Comparison(
    module="bench.plain",
    purpose="Compare specchat's plain decoding with mlx-lm's stream_generate.",
    baseline="mlx-lm",
    ways=lambda target, tokens: {
        "mlx-lm": ways.mlx_lm(target, tokens),
        "specchat": ways.specchat(target, tokens),
    },
)

if __name__ == "__main__":
    sys.exit(run(COMPARISON, sys.argv[1:]))
