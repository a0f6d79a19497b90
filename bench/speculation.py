"""What does speculation with four drafted tokens a round gain or cost on this machine?

`lookup` is a draft that costs no forward pass and is accepted where a text repeats itself. `self` is the
target drafting for itself: everything is accepted and each draft costs a whole step, so it shows
what verification alone costs.
"""

from __future__ import annotations

import sys

from bench import ways
from bench.comparison import Comparison, run

K = 4

COMPARISON = Comparison(
    module="bench.speculation",
    purpose=f"Compare speculation at K={K} with plain decoding.",
    baseline="plain",
    ways=lambda target, tokens: {
        "plain": ways.specchat(target, tokens),
        "lookup": ways.specchat(target, tokens, "lookup", K),
        "self": ways.specchat(target, tokens, "self", K),
    },
)

if __name__ == "__main__":
    sys.exit(run(COMPARISON, sys.argv[1:]))
