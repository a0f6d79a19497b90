"""The ways of decoding that are compared: mlx-lm's own loop, and specchat's engine.

Both are timed alike: by the clock of whoever consumes them, from the first round's arrival to the
last one's.
"""

from __future__ import annotations

import time

import mlx.core as mx
from mlx_lm.generate import generation_stream, stream_generate

from bench.interleave import Run, Way
from bench.statistics import Timing
from mlx_spec import Engine, Limits, Sampling
from models.loaded import Loaded


def mlx_lm(target: Loaded, tokens: int) -> Way:
    """mlx-lm's `stream_generate`, greedy, at most `tokens` tokens."""

    def run(prompt: list[int]) -> Run:
        answer: list[int] = []
        first = last = 0.0
        for response in stream_generate(target.model, target.tokenizer, prompt, max_tokens=tokens):
            last = time.perf_counter()
            first = first or last
            answer.append(response.token)
        timing = Timing(len(answer) - 1, last - first)
        if answer[-1] in target.tokenizer.eos_token_ids:
            answer.pop()
        _drain()
        return Run(answer, timing)

    return run


def specchat(target: Loaded, tokens: int, draft: str | None = None, k: int = 0) -> Way:
    """specchat's engine, greedy, at most `tokens` tokens; plain without a draft source.

    Each run has an engine of its own: a source that remembered an earlier run of the same prompt
    would propose that run's answer.
    """

    def run(prompt: list[int]) -> Run:
        engine = Engine(target, draft, k=k)
        answer: list[int] = []
        first = last = 0.0
        for event in engine.generate(prompt, Sampling(), Limits(max_tokens=tokens)):
            last = time.perf_counter()
            first = first or last
            answer.extend(event.tokens)
        metrics = engine.metrics
        ended = metrics.finish_reason == "stop"  # the end token is no part of the answer but was paid for
        timing = Timing(len(answer) + ended - metrics.first_tokens, last - first)
        _drain()
        return Run(answer, timing, metrics.drafted, metrics.accepted, metrics.rounds)

    return run


def _drain() -> None:
    """Wait for what was started ahead and never needed: it would run in the next one's time."""
    mx.synchronize()
    mx.synchronize(generation_stream)
    mx.clear_cache()
