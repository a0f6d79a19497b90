"""The ways of decoding that are compared: mlx-lm's own loop, and specchat's engine."""

from __future__ import annotations

from collections.abc import Iterator

import mlx.core as mx
from mlx_lm.generate import generation_stream, stream_generate

from bench.interleave import Step, Way
from mlx_spec import Engine, Limits, Sampling
from models.loaded import Loaded


def mlx_lm(target: Loaded, tokens: int) -> Way:
    """mlx-lm's `stream_generate`, greedy, at most `tokens` tokens."""

    def decode(prompt: list[int]) -> Iterator[Step]:
        for response in stream_generate(target.model, target.tokenizer, prompt, max_tokens=tokens):
            ended = response.token in target.tokenizer.eos_token_ids
            yield Step(0, []) if ended else Step(1, [response.token])

    return decode


def specchat(target: Loaded, tokens: int, draft: str | None = None, k: int = 0) -> Way:
    """specchat's engine, greedy, at most `tokens` tokens; plain without a draft source.

    Each answer has an engine of its own: a source that remembered an earlier answer to the same
    prompt would propose it.
    """

    def decode(prompt: list[int]) -> Iterator[Step]:
        engine = Engine(target, draft, k=k)
        before = 0
        for event in engine.generate(prompt, Sampling(), Limits(max_tokens=tokens)):
            done = engine.metrics.completion_tokens
            yield Step(done - before, event.tokens, event.k, event.accepted)
            before = done

    return decode


def settle() -> None:
    """Wait for what was started ahead; left alone, it would run in another way's time."""
    mx.synchronize()
    mx.synchronize(generation_stream)
