"""How much of a sampled draft stands: block verification, token-wise rejection, and mlx-lm's own rule.

mlx-lm draws target and draft independently and compares, which accepts sum(p q) of a token where
rejection accepts sum(min(p, q)). All three keep the target's law; they differ in what they waste.
The first rates are counts of whole rounds, each rule on texts that it sampled itself. The last two
are expectations at the first drafted token on the same rows, so texts do not blur them.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np
from mlx_lm.generate import speculative_generate_step

from bench.environment import environment
from bench.prompts import builtin
from bench.statistics import Estimate
from bench.studies.rates import rate, rate_ratio
from mlx_spec import EngineOptions, Sampling, drafts
from mlx_spec.caches import CachedModel
from mlx_spec.drafts.base import DraftSource
from mlx_spec.law import acceptance
from mlx_spec.law.sampling import Sampler
from mlx_spec.round import verify
from mlx_spec.turns.reading import Reading
from models import load
from models.loaded import Loaded
from models.tokenizer import render_chat

Rule = Callable[..., tuple[Any, Any]]


@dataclass
class Counts:
    """Rounds of one rule: drafted and accepted tokens of each."""

    drafted: list[float] = field(default_factory=list)
    accepted: list[float] = field(default_factory=list)

    def add(self, drafted: int, accepted: int) -> None:
        self.drafted.append(drafted)
        self.accepted.append(accepted)


@dataclass
class Overlap:
    """At the first drafted token of each round: what either kind of rule accepts in expectation."""

    compared: list[float] = field(default_factory=list)  # sum(p q)
    rejected: list[float] = field(default_factory=list)  # sum(min(p, q)) = 1 - total variation

    def watch(self, rule: Rule) -> Rule:
        """The same rule, with an eye on its rows."""

        def watched(p: mx.array, q: mx.array, *rest: Any) -> tuple[Any, Any]:
            # Float32 rows of a large vocabulary sum to 1 only within 1e-4.
            a, b = (np.array(rows[0], dtype=np.float64) for rows in (p, q))
            a, b = a / a.sum(), b / b.sum()
            self.compared.append(float(a @ b))
            self.rejected.append(float(np.minimum(a, b).sum()))
            return rule(p, q, *rest)

        return watched


def ours(
    target: Loaded, source: DraftSource, prompt: list[int], k: int, tokens: int, seed: int, rule: Rule
) -> Iterator[tuple[int, int]]:
    """(drafted, accepted) of each whole round of `rule` at temperature 1, up to an end token."""
    sampler = Sampler(Sampling(temperature=1.0, seed=seed))
    cached = CachedModel(target.model)
    cached.prefill(prompt[:-1], chunk=512)
    committed = list(prompt)
    source.begin(committed, sampler)
    source.catch_up(Reading(chunk=512))
    while len(committed) + k < len(prompt) + tokens:
        outcome = verify(committed, source.propose(k), cached.forward, sampler, rule)
        if target.tokenizer.eos_token_ids.intersection(outcome.emitted):
            return
        committed += outcome.emitted
        cached.keep(len(committed) - 1)
        source.commit(outcome.emitted, outcome.accepted)
        yield k, outcome.accepted


def mlx_lms(
    target: Loaded, draft: Loaded, prompt: list[int], k: int, tokens: int
) -> Iterator[tuple[int, int]]:
    """The same of mlx-lm's speculative decoding, with its random state as it stands."""
    accepted = 0
    steps = speculative_generate_step(
        mx.array(prompt),
        target.model,
        draft.model,
        num_draft_tokens=k,
        max_tokens=tokens,
        sampler=lambda logprobs: mx.random.categorical(logprobs),
    )
    for emitted, (token, _, drafted) in enumerate(steps, start=1):
        if int(token) in target.tokenizer.eos_token_ids:
            return
        if drafted:
            accepted += 1
            continue
        if emitted - accepted - 1 + k < tokens:  # a round that the limit did not shorten
            yield k, accepted
        accepted = 0


AS_STORED = "as-stored"
# Weights in (bits, group size) other than the embedded model's own 4 and 32, so that the laws differ.
REQUANTIZED = {"4-bit": (4, 64), "3-bit": (3, 32), "2-bit": (2, 32)}
SAME = 1e-3  # total variation below which a draft is the target itself


def load_draft(model: str, name: str) -> Loaded:
    """The target's weights quantized anew: a draft that is near it or far from it.

    As stored, a quantized model may have the very laws of its float32 target, which holds the same
    numbers: that is an upper bound and not a draft.
    """
    if name == AS_STORED:
        return load(model)
    loaded = load(model, dtype="float32")
    bits, group_size = REQUANTIZED[name]
    nn.quantize(loaded.model, group_size=group_size, bits=bits)
    mx.eval(loaded.model.parameters())
    return loaded


def measure(
    target: Loaded, draft: Loaded, options: argparse.Namespace, progress: Callable[[str], None]
) -> dict[str, Any]:
    """Every rule on every prompt, taking turns; the rates and their ratios."""
    rules = {"block": acceptance.block, "token-wise": acceptance.reject}
    counts = {name: Counts() for name in [*rules, "mlx-lm"]}
    overlap = Overlap()
    source = drafts.model_source(target, draft, EngineOptions(k=options.k))
    mx.random.seed(options.seed)
    for i, asked in enumerate(builtin().quick().prompts[: options.prompts]):
        progress(f"prompt {i + 1} of {options.prompts}")
        prompt = render_chat(target.tokenizer, asked.messages)
        for name, rule in rules.items():
            watched = overlap.watch(rule)
            seed = options.seed + i
            for each in ours(target, source, prompt, options.k, options.tokens, seed, watched):
                counts[name].add(*each)
        for each in mlx_lms(target, draft, prompt, options.k, options.tokens):
            counts["mlx-lm"].add(*each)
    base = counts["mlx-lm"]
    return {
        "rules": {
            name: {
                "rounds": len(each.drafted),
                "acceptance_rate": asdict(rate(each.accepted, each.drafted)),
                "over_mlx_lm": _finite(
                    rate_ratio((each.accepted, each.drafted), (base.accepted, base.drafted))
                ),
            }
            for name, each in counts.items()
        },
        "first_token": {
            "rows": len(overlap.compared),
            "largest_total_variation": 1 - min(overlap.rejected),
            "is_the_target": 1 - min(overlap.rejected) < SAME,
            "sum_min_p_q": asdict(rate(overlap.rejected, [1] * len(overlap.rejected))),
            "sum_p_q": asdict(rate(overlap.compared, [1] * len(overlap.compared))),
            "ratio": asdict(rate(overlap.rejected, overlap.compared)),
        },
    }


def main(arguments: list[str]) -> int:
    """Measure and print the table and the JSON line; the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.studies.acceptance", description="Compare acceptance at temperature 1."
    )
    add = parser.add_argument
    add("--model", default="builtin", help="the target, as float32")
    add("--drafts", nargs="+", choices=[AS_STORED, *REQUANTIZED], default=["4-bit", "3-bit"])
    add("--k", type=int, default=4, help="draft tokens a round")
    add("--tokens", type=int, default=40, help="tokens an answer, at most")
    most = len(builtin().quick().prompts)
    add("--prompts", type=int, default=4, choices=range(1, most + 1), metavar="N")
    add("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    target = load(options.model, dtype="float32")
    results = {}
    for name in options.drafts:
        progress = functools.partial(_say, name)
        results[name] = measure(target, load_draft(options.model, name), options, progress)
    for name, result in results.items():
        for rule, row in result["rules"].items():
            sys.stdout.write(
                f"{name:<22}{rule:<12}{row['rounds']:>5} rounds  rate {_shown(row['acceptance_rate'])}"
                f"  over mlx-lm {_shown(row['over_mlx_lm'])}\n"
            )
        first = result["first_token"]
        sys.stdout.write(
            f"{name:<22}first token, {first['rows']} rows: sum(min(p,q)) {_shown(first['sum_min_p_q'])}, "
            f"sum(p q) {_shown(first['sum_p_q'])}, ratio {_shown(first['ratio'])}\n"
        )
        if first["is_the_target"]:
            sys.stdout.write(f"{name:<22}has the target's own laws: an upper bound, not a draft\n")
    summary = {
        "bench": "bench.studies.acceptance",
        "environment": environment(),
        **{name: getattr(options, name) for name in ("model", "k", "tokens", "prompts", "seed")},
        "drafts": results,
    }
    sys.stdout.write(f"{json.dumps(summary)}\n")
    return 0


def _finite(estimate: Estimate) -> dict[str, float | None]:
    """For JSON, which has no infinity: null is without bound."""
    return {name: value if math.isfinite(value) else None for name, value in asdict(estimate).items()}


def _shown(estimate: dict[str, float | None]) -> str:
    value, low, high = ("-" if v is None else f"{v:.3f}" for v in estimate.values())
    return f"{value} ({low} to {high})"


def _say(draft: str, sentence: str) -> None:
    sys.stderr.write(f"{draft}: {sentence}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
