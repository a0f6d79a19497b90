"""What share of a round goes to warping and accepting? The goal is under 3% on the embedded model.

Each round is split into forwards and everything that turns logits into tokens: the source's laws and
draws, the target's laws, the rule. All parts of a round follow each other at once, so a drifting
machine slows them alike. Each is waited for by itself, which hides nothing: an engine that lets them
overlap can only have a smaller share. The draft model is the target itself: a cheaper one makes the
round shorter, and this share larger.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import mlx.core as mx

from bench.environment import environment
from bench.prompts import builtin
from bench.statistics import Estimate
from bench.studies.rates import rate
from mlx_spec import Sampling
from mlx_spec.caches import CachedModel
from mlx_spec.drafts.base import Draft
from mlx_spec.law.sampling import Sampler
from mlx_spec.round import verify
from models import load
from models.loaded import Loaded
from models.tokenizer import render_chat

SAMPLINGS: Mapping[str, Sampling] = {
    "greedy": Sampling(),
    "temp 1": Sampling(temperature=1.0, seed=0),
    "temp 0.7, top-p 0.9": Sampling(temperature=0.7, top_p=0.9, seed=0),
    "temp 0.7, top-k 20": Sampling(temperature=0.7, top_k=20, seed=0),
    "all warpers": Sampling(temperature=0.7, top_p=0.9, top_k=20, min_p=0.05, presence_penalty=0.5, seed=0),
    "seed-exact": Sampling(temperature=1.0, seed=0, seed_exact=True),
}


@dataclass
class Split:
    """One round's seconds.

    Attributes:
        drafting: K forwards of the draft model.
        drawing: the source's laws and draws.
        forward: the target's forward over K+1 rows.
        judging: the target's laws and the rule, with the round's host synchronization.
        telling: what judging takes more if it tells of probabilities, for the inspector of rounds.
    """

    drafting: float = 0.0
    drawing: float = 0.0
    forward: float = 0.0
    judging: float = 0.0
    telling: float = 0.0


class Rounds:
    """Rounds on one target after one prompt, each rolled back: the context stays as it is."""

    def __init__(self, target: Loaded, k: int, clock: Callable[[], float] = time.perf_counter) -> None:
        self._k = k
        self._clock = clock
        self._cached = CachedModel(target.model)
        self._committed = render_chat(target.tokenizer, builtin().prompts[0].messages)
        self._cached.prefill(self._committed[:-1], chunk=512)
        self._rows = self._cached.rows
        self._told_first = False  # in every other round, so that neither finds caches warmer

    def one(self, sampler: Sampler) -> Split:
        """Draft, run and judge one round."""
        split = Split()
        draft = self._draft(sampler, split)
        fed = mx.concatenate([mx.array(self._committed[-1:], dtype=mx.uint32), draft.tokens])
        started = self._clock()
        logits = self._cached.forward(fed)
        mx.eval(logits)
        split.forward = self._clock() - started
        self._told_first = not self._told_first
        seconds = {}
        for details in (self._told_first, not self._told_first):
            started = self._clock()
            verify(self._committed, draft, lambda tokens: logits, sampler, details=details)
            seconds[details] = self._clock() - started
        split.judging, split.telling = seconds[False], seconds[True] - seconds[False]
        self._cached.keep(self._rows)
        return split

    def _draft(self, sampler: Sampler, split: Split) -> Draft:
        """As `mlx_spec.drafts.model.ModelDraft` draws: token by token, each from its law."""
        tokens: list[mx.array] = []
        laws: list[mx.array] = []
        fed = mx.array(self._committed[-1:], dtype=mx.uint32)
        for _ in range(self._k):
            started = self._clock()
            logits = self._cached.forward(fed)
            mx.eval(logits)
            forwarded = self._clock()
            drafted = mx.concatenate(tokens) if tokens else None
            if sampler.coupled:
                fed = sampler.tokens(logits, self._committed, drafted)
            else:
                laws.append(sampler.laws(logits, self._committed, drafted))
                fed = sampler.dice.draw(laws[-1])
            tokens.append(fed)
            mx.eval(fed)
            split.drafting += forwarded - started
            split.drawing += self._clock() - forwarded
        self._cached.keep(self._rows)
        return Draft(mx.concatenate(tokens).astype(mx.uint32), mx.concatenate(laws) if laws else None)


def measure(target: Loaded, k: int, rounds: int) -> dict[str, Any]:
    """Shares by sampling; the samplings take turns, and the first two rounds of each are not counted."""
    each = Rounds(target, k)
    samplers = {name: Sampler(sampling) for name, sampling in SAMPLINGS.items()}
    splits: dict[str, list[Split]] = {name: [] for name in samplers}
    for _ in range(rounds + 2):
        for name, sampler in samplers.items():
            splits[name].append(each.one(sampler))
    return {name: _shares(found[2:]) for name, found in splits.items()}


def _shares(splits: list[Split]) -> dict[str, Any]:
    """Of a round with a draft that costs nothing (lookup), and of one with a draft model."""
    total = {part: sum(getattr(s, part) for s in splits) for part in asdict(splits[0])}
    whole = [s.drafting + s.drawing + s.forward + s.judging for s in splits]
    return {
        "lookup": asdict(rate([s.judging for s in splits], [s.judging + s.forward for s in splits])),
        "telling": asdict(rate([s.telling for s in splits], [s.judging + s.forward for s in splits])),
        "model": asdict(rate([s.judging + s.drawing for s in splits], whole)),
        "milliseconds": {part: round(1e3 * seconds / len(splits), 3) for part, seconds in total.items()},
    }


def main(arguments: list[str]) -> int:
    """Measure, print the table and the JSON line; the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.studies.overhead", description="The share of warping and accepting in a round."
    )
    add = parser.add_argument
    add("--model", default="builtin", help="the target")
    add("--dtype", choices=["float32", "float16", "bfloat16"], help="convert it (unset: as it is stored)")
    add("--k", type=int, default=4, help="draft tokens a round")
    add("--rounds", type=int, default=20, help="rounds of each sampling")
    options = parser.parse_args(arguments)
    samplings = measure(load(options.model, dtype=options.dtype), options.k, options.rounds)
    for name, row in samplings.items():
        shares = ", ".join(f"{part} {_percent(row[part])}" for part in ("lookup", "model", "telling"))
        sys.stdout.write(f"{name:<22}{shares}\n")
    summary = {
        "bench": "bench.studies.overhead",
        "environment": environment(),
        **{name: getattr(options, name) for name in ("model", "dtype", "k", "rounds")},
        "samplings": samplings,
    }
    sys.stdout.write(f"{json.dumps(summary)}\n")
    return 0


def _percent(estimate: dict[str, float]) -> str:
    each = Estimate(**estimate)
    return f"{each.value:.2%} ({each.low:.2%} to {each.high:.2%})"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
