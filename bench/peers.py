"""The same prompts through other programs' loops: mlx-lm plain and speculative, mlx-dspark's lookup.

All decode the very target that is in memory already. Nothing carries over from one answer to the next:
a lookup that remembered the last one would draft it.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import mlx.core as mx
from mlx_lm.generate import generation_stream, stream_generate
from mlx_lm.sample_utils import make_logits_processors, make_sampler

from bench.design import Task, Way
from bench.measure import Clock
from bench.sample import Counts
from bench.ways import Decoder, Pair, Step
from mlx_spec.options import Sampling
from models.loaded import Loaded

MLX_LM, MLX_DSPARK = "mlx-lm", "mlx-dspark"
K = 2  # mlx-lm's own default


def peer_ways(source: str, drafts_with_model: bool) -> list[Way]:
    """mlx-lm plain as the baseline, its speculation, and specchat's in the same manner and by itself.

    Args:
        source: specchat's draft source.
        drafts_with_model: a draft model is loaded; otherwise the target drafts for itself in mlx-lm.
    """
    theirs = "model" if drafts_with_model else "self"
    ways = [
        Way(MLX_LM, None, 0, MLX_LM),
        Way(f"{MLX_LM} {theirs} K={K}", theirs, K, MLX_LM),
        Way("specchat", None, 0),
        Way(f"specchat {theirs} K={K}", theirs, K),
        Way(f"specchat {source} auto", source, "auto"),
    ]
    if has_dspark():
        ways.append(Way(f"{MLX_DSPARK} lookup", "lookup", None, MLX_DSPARK))
    return ways


def has_dspark() -> bool:
    return importlib.util.find_spec("mlx_dspark") is not None


def peer_decoders(pair: Pair, ways: Sequence[Way], clock: Clock) -> dict[str, Decoder]:
    """A decoder for each way that is not specchat's own, by name."""
    found: dict[str, Decoder] = {}
    for way in ways:
        if way.engine == MLX_LM:
            draft = (pair.draft or pair.target) if way.source else None
            found[way.name] = MlxLm(pair.target, draft)
        elif way.engine == MLX_DSPARK:
            found[way.name] = MlxDspark(pair.target, clock)
    return found


def settle() -> None:
    """Wait for what was started ahead; left alone, it would run in another way's time."""
    mx.synchronize()
    mx.synchronize(generation_stream)


def takes(task: Task) -> bool:
    """Whether every peer can sample as this task wants: only what all of them have is compared."""
    plain = Sampling(
        temperature=task.sampling.temperature, top_p=task.sampling.top_p, seed=task.sampling.seed
    )
    return task.sampling == plain


class MlxLm:
    """mlx-lm's `stream_generate`, with a draft model or without."""

    def __init__(self, target: Loaded, draft: Loaded | None) -> None:
        self._target = target
        self._draft = draft
        self._counts = Counts()

    def decode(self, task: Task) -> Iterator[Step]:
        options: dict[str, Any] = {
            "max_tokens": task.max_tokens,
            "sampler": make_sampler(temp=task.sampling.temperature, top_p=task.sampling.top_p),
            "logits_processors": make_logits_processors(),
        }
        if self._draft:
            options |= {"draft_model": self._draft.model, "num_draft_tokens": K}
        if task.sampling.seed is not None:
            mx.random.seed(task.sampling.seed)
        ends = self._target.tokenizer.eos_token_ids
        responses = stream_generate(self._target.model, self._target.tokenizer, task.tokens, **options)
        # It hands out a round's tokens one by one, though they came at once: the first round's others
        # would count as tokens that took no time. A token that was not drafted is a round's last one.
        rounds, accepted = 0, 0
        burst: list[int] = []
        for response in responses:
            if response.token not in ends:
                burst.append(response.token)
                accepted += response.from_draft
                if response.from_draft:
                    continue
            yield Step(len(burst), burst)
            rounds += 1
            burst = []
        yield Step(len(burst), burst)
        self._counts = Counts(rounds=rounds, accepted=accepted) if self._draft else Counts()

    def counts(self) -> Counts:
        return self._counts

    def rest(self, over: Callable[[], bool]) -> None:
        """It measures nothing."""

    def forget(self) -> None:
        """Each answer has a cache of its own."""


class MlxDspark:
    """mlx-dspark's `lookup_generate`. It answers in one call and tells of its first text on the way."""

    def __init__(self, target: Loaded, clock: Clock) -> None:
        package: Any = importlib.import_module("mlx_dspark")
        self._generate: Callable[..., Any] = package.lookup_generate
        self._target = package.Target(target.model, target.tokenizer)
        self._tokenizer = target.tokenizer
        self._clock = clock

    def decode(self, task: Task) -> Iterator[Step]:
        heard: list[float] = []
        result = self._generate(
            self._target,
            self._tokenizer,
            prompt_ids=task.tokens,
            max_new_tokens=task.max_tokens,
            temperature=task.sampling.temperature,
            top_p=task.sampling.top_p,
            seed=task.sampling.seed,
            on_text=lambda _text: heard.append(self._clock()),
        )
        ends = self._tokenizer.eos_token_ids
        # Its last round may run past the limit; those tokens were computed, and are no part of the answer.
        tokens = [token for token in result.token_ids if token not in ends]
        if not tokens or not heard:
            return
        yield Step(1, tokens[:1], ago=self._clock() - heard[0])
        if rest := tokens[1:]:
            yield Step(len(rest), rest[: task.max_tokens - 1])

    def counts(self) -> Counts:
        return Counts()

    def rest(self, over: Callable[[], bool]) -> None:
        """It measures nothing."""

    def forget(self) -> None:
        """Each answer has an index and a cache of its own."""
