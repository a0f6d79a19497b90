"""What block verification accepts over token-wise rejection, by K: `python -m bench.studies.block_gain`.

Exact up to floating point, with nothing timed and nothing drawn but the pairs themselves: every draft
of K tokens is enumerated. Given a draft X, token-wise rejection lets at least i tokens stand with
probability prod_{j<=i} min(1, r_j), block verification with p_i = min(1, p_{i-1} r_i), where r_j is
p/q at X_j (arXiv 2403.10444, section 4). The second is never below the first, draft by draft.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

MOST_K = 4
SPREAD = 2.0  # standard deviation of the target's logits


@dataclass(frozen=True)
class Pair:
    """A random target and draft, each a Markov chain of softmax laws.

    Attributes:
        vocabulary: V.
        apart: standard deviation by which the draft's logits differ from the target's.
    """

    vocabulary: int
    apart: float

    def laws(self, seed: int) -> tuple[Any, Any]:
        """p and q, (V, V) each: the law after each token."""
        random = np.random.default_rng([seed, self.vocabulary])
        logits = SPREAD * random.normal(size=(self.vocabulary, self.vocabulary))
        return softmax(logits), softmax(logits + self.apart * random.normal(size=logits.shape))


PAIRS = [Pair(v, apart) for v in (8, 16, 32, 64) for apart in (0.5, 1.0, 2.0)]


def softmax(logits: Any) -> Any:
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def accepted(p: Any, q: Any, most: int = MOST_K, first: int = 0) -> tuple[list[float], list[float]]:
    """Expected accepted tokens a round at K = 1..most, token-wise and by block.

    Args:
        p: (V, V) the target's law after each token.
        q: (V, V) the draft's.
        most: the largest K; V^most drafts are enumerated.
        first: the pending token.
    """
    v = len(p)
    ratios = np.divide(p, q, out=np.zeros_like(p), where=q > 0)
    # One entry for each draft so far, whose last token is the entry's index modulo V.
    mass, token_wise, block = q[first], np.minimum(ratios[first], 1), np.minimum(ratios[first], 1)
    survivals = [(float(mass @ token_wise), float(mass @ block))]
    for _ in range(most - 1):
        last = np.arange(len(mass)) % v
        ratio = ratios[last]
        mass = (mass[:, None] * q[last]).ravel()
        token_wise = (token_wise[:, None] * np.minimum(ratio, 1)).ravel()
        block = np.minimum(block[:, None] * ratio, 1).ravel()
        survivals.append((float(mass @ token_wise), float(mass @ block)))
    totals = np.cumsum(survivals, axis=0)
    return totals[:, 0].tolist(), totals[:, 1].tolist()


def table(pairs: list[Pair] = PAIRS, seeds: int = 4) -> str:
    """Markdown: for each pair and K, accepted tokens a round under both rules, and the gain."""
    lines = [
        "| V | logits apart | accepted at K=1 | " + " | ".join(f"K={k}" for k in range(2, MOST_K + 1)) + " |",
        "|---" * (MOST_K + 2) + "|",
    ]
    for pair in pairs:
        runs = np.mean([accepted(*pair.laws(seed)) for seed in range(seeds)], axis=0)
        cells = [
            f"{token_wise:.2f} → {block:.2f} (+{100 * (block / token_wise - 1):.1f}%)"
            for token_wise, block in runs.T[1:].tolist()
        ]
        lines.append(f"| {pair.vocabulary} | {pair.apart} | {runs[0, 0]:.2f} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    print(table())  # noqa: T201


if __name__ == "__main__":
    main()
