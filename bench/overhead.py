"""What share of a round goes to warping and accepting? The goal is under 3% on the embedded model.

Each round is split in two: the forwards, and everything that turns logits into tokens: the source's
laws and draws, the target's laws, the rule. Both parts of a round follow each other at once, so a
drifting machine slows both. The parts are waited for apart, which hides nothing: an engine that lets
them overlap can only have a smaller share.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import mlx.core as mx

from bench import report
from bench.backends import BACKENDS, find_blas, measure_in_child
from bench.prompts import PROMPTS
from bench.statistics import Estimate, rate
from mlx_spec import Sampling
from mlx_spec.caches import CachedModel
from mlx_spec.drafts.base import Draft
from mlx_spec.round import verify
from mlx_spec.sampling import Sampler
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
        forward: the target's forward over K+1 rows.
        drawing: the source's laws and draws; its own forwards are not counted, as if they were free.
        judging: the target's laws and the rule, with the round's host synchronization.
    """

    forward: float
    drawing: float
    judging: float


class Rounds:
    """Rounds on one target after one prompt, each rolled back: the context stays as it is.

    The source is the target's own last logits, flattened a little: its laws overlap with the
    target's, and its forwards cost nothing.
    """

    def __init__(self, target: Loaded, k: int, clock: Callable[[], float] = time.perf_counter) -> None:
        self._k = k
        self._clock = clock
        self._cached = CachedModel(target.model)
        self._committed = render_chat(target.tokenizer, [{"role": "user", "content": PROMPTS[0]}])
        self._cached.prefill(self._committed[:-1], chunk=512)
        self._rows = self._cached.rows
        self._logits = self._cached.forward(mx.array(self._committed[-1:]))
        mx.eval(self._logits)
        self._cached.keep(self._rows)

    def one(self, sampler: Sampler) -> Split:
        """Draft, run and judge one round."""
        started = self._clock()
        draft = self._draft(sampler)
        drawn = self._clock()
        fed = mx.concatenate([mx.array(self._committed[-1:], dtype=mx.uint32), draft.tokens])
        logits = self._cached.forward(fed)
        mx.eval(logits)
        forwarded = self._clock()
        verify(self._committed, draft, lambda tokens: logits, sampler)
        judged = self._clock()
        self._cached.keep(self._rows)
        return Split(forwarded - drawn, drawn - started, judged - forwarded)

    def _draft(self, sampler: Sampler) -> Draft:
        """As `mlx_spec.drafts.model.ModelDraft` draws: token by token, each from its law."""
        tokens: list[mx.array] = []
        laws: list[mx.array] = []
        for _ in range(self._k):
            drafted = mx.concatenate(tokens) if tokens else None
            if sampler.coupled:
                tokens.append(sampler.tokens(self._logits * 0.9, self._committed, drafted))
            else:
                law = sampler.laws(self._logits * 0.9, self._committed, drafted)
                tokens.append(sampler.dice.draw(law))
                laws.append(law)
            mx.eval(tokens[-1])
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
    """Both shares, of a round whose draft forwards are free: with real ones they are smaller."""
    judging = rate([s.judging for s in splits], [s.judging + s.forward for s in splits])
    whole = [s.judging + s.drawing + s.forward for s in splits]
    both = rate([s.judging + s.drawing for s in splits], whole)
    milliseconds = {
        part: round(1e3 * sum(getattr(s, part) for s in splits) / len(splits), 3)
        for part in asdict(splits[0])
    }
    return {"judging": asdict(judging), "judging_and_drawing": asdict(both), "milliseconds": milliseconds}


def main(arguments: list[str]) -> int:
    """Measure, print the table and the JSON line; the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.overhead", description="The share of warping and accepting in a round."
    )
    add = parser.add_argument
    add("--model", default="builtin", help="the target")
    add("--k", type=int, default=4, help="draft tokens a round")
    add("--rounds", type=int, default=20, help="rounds of each sampling")
    add(
        "--blas",
        default="auto",
        help="library to preload for float32; auto is OpenBLAS, if installed (Linux)",
    )
    add("--backend", choices=BACKENDS, help="measure this one alone, with what is preloaded now")
    options = parser.parse_args(arguments)
    backends: dict[str, Any] = {}
    if options.backend:
        target = load(options.model, dtype=BACKENDS[options.backend].dtype)
        backends[options.backend] = measure(target, options.k, options.rounds)
    else:
        blas = find_blas() if options.blas == "auto" else options.blas
        try:
            for name in BACKENDS:
                backends |= json.loads(measure_in_child("bench.overhead", name, arguments, blas))["backends"]
        except subprocess.CalledProcessError as error:
            return error.returncode
    for backend, samplings in backends.items():
        for name, row in samplings.items():
            sys.stdout.write(
                f"{backend:<12}{name:<22}target's laws and rule {_percent(row['judging'])}, "
                f"with the source's draws {_percent(row['judging_and_drawing'])}\n"
            )
    summary = {
        "bench": "bench.overhead",
        "date": report.today(),
        "machine": report.machine(),
        "model": options.model,
        "k": options.k,
        "rounds": options.rounds,
        "backends": backends,
    }
    sys.stdout.write(f"{json.dumps(summary)}\n")
    return 0


def _percent(estimate: dict[str, float]) -> str:
    each = Estimate(**estimate)
    return f"{each.value:.2%} ({each.low:.2%} to {each.high:.2%})"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
