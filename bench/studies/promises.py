"""Is the engine never slower than plain decoding, and as fast as it could be? On one of two backends.

    python -m bench.studies.promises serialized    the embedded model as it is stored: 4-bit
    python -m bench.studies.promises parallel      in float32, which wants a good BLAS preloaded on Linux

Every prompt is a block: plain decoding first and last, the other ways in random order between them, each
with an engine of its own that lives through all prompts as in a chat. Where that engine wants to measure
the machine it does so between answers, as the chat does while nobody types. Times are whole answers,
from the request to the last token, with the target's cache of the prompt warm for all ways.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np

from bench.design import PLAIN, Task, Turn, Way
from bench.environment import environment
from bench.measure import Bench
from bench.peers import MlxLm, settle
from bench.prompts import read
from bench.sample import Counts, Sample
from bench.statistics import Bootstrap, Timings, ratio
from bench.ways import Decoder, EngineDecoder, Pair, Silent, Step
from mlx_spec import Engine, EngineOptions
from mlx_spec.drafts.base import Draft
from mlx_spec.law.sampling import Sampler
from models import load
from models.loaded import Loaded
from models.tokenizer import render_chat

PROMPTS = Path(__file__).with_name("promises.toml")
RIGHT = 0.7  # of the drafts of `Recorded`


@dataclass(frozen=True)
class Backend:
    """What is measured on one backend.

    Attributes:
        dtype: what the weights are loaded as; None keeps them as they are stored.
        classes: of the prompts.
        tokens: of an answer at most.
    """

    dtype: str | None
    classes: tuple[str, ...]
    tokens: int


BACKENDS = {
    "serialized": Backend(None, ("prose", "code"), 64),
    "parallel": Backend("float32", ("repeat", "correct", "prose", "code"), 128),
}


class Recorded(Silent):
    """A source that costs nothing and is right about 70% of the time: a known answer with errors."""

    name = "recorded"
    free = True

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self.answer: list[int] = []
        self._prompt = self._at = 0

    def begin(self, committed: Sequence[int], sampler: Sampler) -> None:
        self._prompt = self._at = len(committed)
        errors = random.Random(self._seed)
        self._wrong = [errors.random() > RIGHT for _ in self.answer]

    def propose(self, k: int) -> Draft:
        here = self._at - self._prompt
        known = zip(self.answer[here : here + k], self._wrong[here : here + k], strict=True)
        return Draft(mx.array([token ^ 1 if wrong else token for token, wrong in known], dtype=mx.uint32))

    def commit(self, tokens: Sequence[int], accepted: int) -> None:
        self._at += len(tokens)

    def rewind(self, n: int) -> None:
        self._at -= n

    def in_step(self, committed: Sequence[int]) -> bool:
        return self._at == len(committed)


class KnowingDecoder(EngineDecoder):
    """Speculates with the plain answer to the same prompt, which is got first and not timed."""

    def __init__(self, engine: Engine, source: Recorded, plain: Decoder) -> None:
        super().__init__(engine, cold=False)
        self._source = source
        self._plain = plain
        self._answers: dict[str, list[int]] = {}

    def learn(self, task: Task) -> None:
        """Get the answer."""
        self._answers[task.prompt] = [token for step in self._plain.decode(task) for token in step.shown]

    def decode(self, task: Task) -> Iterator[Step]:
        self._source.answer = self._answers[task.prompt]
        return super().decode(task)


def decoders_of(pair: Pair, backend: str) -> dict[str, Decoder]:
    """The ways that are compared on a backend, plain decoding first. All share one cache of the target."""
    plain = pair.engine(Way(PLAIN))
    session = plain.session
    found: dict[str, Decoder] = {PLAIN: EngineDecoder(plain, cold=False)}
    if backend == "parallel":
        found["lookup auto"] = EngineDecoder(pair.engine(Way("", "lookup", "auto"), session), cold=False)
        return found
    for k in ("auto", 4):
        found[f"self {k}"] = EngineDecoder(pair.engine(Way("", "self", k), session), cold=False)
    source = Recorded()
    engine = Engine(pair.target, source, session=session, k="auto")
    found["recorded auto"] = KnowingDecoder(engine, source, found[PLAIN])
    found["mlx-lm self 2"] = MlxLm(pair.target, pair.target)
    return found


def measure(target: Loaded, backend: str, count: int, seed: int) -> tuple[list[Sample], dict[str, Any]]:
    """All runs, and the verdict at the end of every way that has one."""
    how = BACKENDS[backend]
    decoders = decoders_of(Pair(target, None, EngineOptions()), backend)
    bench = Bench(decoders, clock=time.perf_counter, settle=settle)
    order = random.Random(seed)
    prompts = [
        p for name in how.classes for p in [q for q in read(PROMPTS).prompts if q.group == name][:count]
    ]
    samples: list[Sample] = []
    for block, prompt in enumerate(order.sample(prompts, len(prompts))):
        tokens = render_chat(target.tokenizer, prompt.messages)
        task = Task(prompt.id, prompt.group, tokens, max_tokens=how.tokens)
        for _ in decoders[PLAIN].decode(replace(task, max_tokens=1)):  # reads the prompt for all
            pass
        others = [name for name in decoders if name != PLAIN]
        for decoder in decoders.values():
            if isinstance(decoder, KnowingDecoder):
                decoder.learn(task)
        for place, way in enumerate([PLAIN, *order.sample(others, len(others)), PLAIN]):
            _idle(decoders[way])
            sample = bench.run(Turn(block, place, way, 0), task, session=0)
            assert sample is not None
            samples.append(sample)
            pace = sum(sample.emitted) / sample.arrivals[-1]
            line = f"{prompt.id:<20} {way:<16} {pace:6.2f} tok/s  {_tried(sample.counts)}"
            sys.stderr.write(f"{line}\n")
    verdicts = {
        name: asdict(decoder.engine.verdict)
        for name, decoder in decoders.items()
        if isinstance(decoder, EngineDecoder) and name != PLAIN
    }
    return samples, verdicts


def _idle(decoder: Decoder) -> None:
    """What an engine does while nobody waits: before the first prompt and between answers."""
    if isinstance(decoder, EngineDecoder):
        for _ in decoder.engine.measure():
            pass


def _tried(counts: Counts) -> str:
    return " ".join(f"K={k}:{n}" for k, n in counts.k_histogram.items())


def speedups(samples: Sequence[Sample], groups: dict[str, str]) -> dict[str, dict[str, Any]]:
    """Speed over plain decoding of each way: on each class of prompts, and on all."""
    ways = list(dict.fromkeys(sample.way for sample in samples))
    blocks = sorted({sample.block for sample in samples})
    runs = {(b, w): [s for s in samples if (s.block, s.way) == (b, w)] for b in blocks for w in ways}
    # Plain decoding runs twice a block; the mean of both is its time.
    timings = Timings(
        [runs[b, PLAIN][0].prompt for b in blocks],
        np.array([[np.mean([sum(s.emitted) for s in runs[b, w]]) for w in ways] for b in blocks]),
        np.array([[np.mean([s.arrivals[-1] for s in runs[b, w]]) for w in ways] for b in blocks]),
    )
    found: dict[str, dict[str, Any]] = {}
    for name in ["all", *dict.fromkeys(groups.values())]:
        part = timings if name == "all" else timings.of({p for p, group in groups.items() if group == name})
        bootstrap = Bootstrap(part)
        found[name] = {way: bootstrap.ratio(i, 0) for i, way in enumerate(ways) if i}
    return found


def main(arguments: list[str]) -> int:
    """Measure, print the table and the JSON line; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.studies.promises", description="Never slower?")
    parser.add_argument("backend", choices=list(BACKENDS))
    parser.add_argument("--count", type=int, default=4, help="prompts of each class")
    parser.add_argument("--seed", type=int, default=0, help="of the order")
    options = parser.parse_args(arguments)
    target = load("builtin", dtype=BACKENDS[options.backend].dtype)
    samples, verdicts = measure(target, options.backend, options.count, options.seed)
    groups = {p.id: p.group for p in read(PROMPTS).prompts if any(s.prompt == p.id for s in samples)}
    found = speedups(samples, groups)
    for name, ways in found.items():
        for way, estimate in ways.items():
            sys.stdout.write(f"{name:<10}{way:<18}{ratio(estimate)}\n")
    for way, verdict in verdicts.items():
        sys.stdout.write(f"{way}: {verdict['sentence']}\n")
    by_class = {name: {way: asdict(e) for way, e in ways.items()} for name, ways in found.items()}
    answers = {s.prompt: [o.digest == s.digest for o in samples if o.prompt == s.prompt] for s in samples}
    same = sum(map(all, answers.values()))
    report = {"speedup": by_class, "verdicts": verdicts, "same_answers": f"{same}/{len(answers)}"}
    summary = {"backend": options.backend, **report, "environment": environment()}
    sys.stdout.write(f"{json.dumps(summary)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
