"""The ways of decoding that specchat's engine has, as one thing that can be timed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from bench.design import LOOP, Task, Way
from bench.sample import Counts
from mlx_spec import Engine, EngineOptions, Limits, drafts
from mlx_spec.drafts.base import NOTHING, Draft, DraftSource
from mlx_spec.law.sampling import Sampler
from mlx_spec.turns.reading import Reading
from mlx_spec.turns.session import Session
from models.loaded import Loaded


@dataclass(frozen=True)
class Step:
    """What one step of decoding brought.

    Attributes:
        computed: tokens that it added to the answer.
        shown: token ids that it released; their text may have been held back for a while.
        ago: seconds since it came, of a decoder that can only tell afterwards.
    """

    computed: int
    shown: list[int]
    ago: float = 0.0


class Decoder(Protocol):
    """Something that answers a prompt step by step."""

    def decode(self, task: Task) -> Iterator[Step]:
        """Answer a prompt. The first step that brings tokens has read the prompt too."""

    def counts(self) -> Counts:
        """What happened in the latest answer."""

    def forget(self) -> None:
        """Drop what the latest answer left: a source that remembered it would propose it."""

    def rest(self, over: Callable[[], bool]) -> None:
        """Do what is done in a chat while nobody waits, until it is done or the time is over."""


class Silent:
    """Proposes nothing: what is left is the speculative loop itself, without drafts."""

    name = "silent"
    free = False
    unable: str | None = None
    context: int | None = None
    behind = 0
    nbytes = 0

    def begin(self, committed: Sequence[int], sampler: Sampler) -> None:
        """There is nothing to begin, and nothing to remember below."""

    def catch_up(self, reading: Reading) -> None:
        pass

    def propose(self, k: int) -> Draft:
        return NOTHING

    def commit(self, tokens: Sequence[int], accepted: int) -> None:
        pass

    def rewind(self, n: int) -> None:
        pass

    def reset(self) -> None:
        pass

    def in_step(self, committed: Sequence[int]) -> bool:
        return True


class EngineDecoder:
    """One engine for all answers of one way, so that `auto` keeps what it learnt, as in a chat."""

    def __init__(self, engine: Engine, cold: bool = True) -> None:
        """Args:
        engine: of this way.
        cold: `forget` also drops the cache that the engine may share with others.
        """
        self.engine = engine
        self._cold = cold

    def decode(self, task: Task) -> Iterator[Step]:
        before = 0
        for event in self.engine.generate(task.tokens, task.sampling, Limits(max_tokens=task.max_tokens)):
            done = self.engine.metrics.completion_tokens
            yield Step(done - before, event.tokens)
            before = done

    def counts(self) -> Counts:
        metrics = self.engine.metrics
        return Counts(
            rounds=metrics.rounds,
            drafted=metrics.drafted,
            accepted=metrics.accepted,
            tested_at=list(metrics.tested_at),
            accepted_at=list(metrics.accepted_at),
            k_histogram={str(k): n for k, n in sorted(metrics.k_histogram.items())},
            reused=metrics.reused_tokens,
            draft_bytes=metrics.draft_bytes,
            kv_bytes=metrics.kv_bytes,
            finish=metrics.finish_reason,
            state=metrics.state,
            reason=metrics.reason,
            verdict=metrics.verdict.sentence if metrics.verdict else None,
        )

    def rest(self, over: Callable[[], bool]) -> None:
        if self.engine.options.k == "auto":
            with closing(self.engine.measure()) as calls:
                for _ in calls:
                    if over():
                        break

    def forget(self) -> None:
        if self._cold:
            self.engine.close()
        elif self.engine.source:
            self.engine.source.reset()


@dataclass(frozen=True)
class Pair:
    """A target with the draft model, if one was loaded.

    Attributes:
        draft: None for sources that need no second model.
        options: of every engine but for k.
    """

    target: Loaded
    draft: Loaded | None
    options: EngineOptions

    def source(self, name: str | None) -> DraftSource | None:
        """A fresh source: what two engines draft from must not mix.

        Args:
            name: "lookup", "self", "model" and the like; None for no source.
        """
        if name is None:
            return None
        if name == "model":
            assert self.draft is not None
            return drafts.model_source(self.target, self.draft, self.options)
        return drafts.make(name, self.target, self.options)

    def engine(self, way: Way, session: Session | None = None) -> Engine:
        """An engine for one way.

        Args:
            way: of specchat's own.
            session: shared with other engines; None makes one.
        """
        options: dict[str, Any] = {**asdict(self.options), "k": way.k}
        source = self.source(way.source)
        if way.name == LOOP:
            source, options["k"] = Silent(), 1
        return Engine(self.target, source, session=session, **options)


def engine_decoders(pair: Pair, ways: Sequence[Way], cold: bool) -> dict[str, EngineDecoder]:
    """A decoder for each of specchat's own ways, by name. All share the weights; the cache unless cold."""
    session: Session | None = None
    decoders: dict[str, EngineDecoder] = {}
    for way in ways:
        if way.engine == "specchat":
            engine = pair.engine(way, session)
            session = None if cold else engine.session
            decoders[way.name] = EngineDecoder(engine, cold)
    return decoders
