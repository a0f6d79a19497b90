"""The engine: one target, one draft source, one conversation. Tokens go in, rounds come out.

It knows nothing of chat messages; a caller renders them to token ids.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import cached_property
from typing import Any, TextIO

import mlx.core as mx

from mlx_spec import drafts
from mlx_spec.admission import admit
from mlx_spec.caches import CachedModel, parameter_bytes
from mlx_spec.caches.rows import rows_differ
from mlx_spec.checks.exactness import StrictVerifier
from mlx_spec.checks.paranoid import Paranoid
from mlx_spec.drafts.base import DraftSource
from mlx_spec.errors import SpecError
from mlx_spec.events import Round
from mlx_spec.generation import Generation
from mlx_spec.law.sampling import Sampler
from mlx_spec.measuring.backend import Backend
from mlx_spec.measuring.device import explain, facts, this_device
from mlx_spec.measuring.probe import MOST_BLOCKS, Probe
from mlx_spec.metrics import Metrics
from mlx_spec.options import EngineOptions, Limits, Sampling
from mlx_spec.policy.auto import AutoK, k_max
from mlx_spec.policy.controller import FixedK, Off
from mlx_spec.text import TextStream, Vocabulary, decoder, vocabulary
from mlx_spec.trace import Trace
from mlx_spec.turns import snapshot
from mlx_spec.turns.identity import identity
from mlx_spec.turns.reading import Reading, chunk_size
from mlx_spec.turns.session import Session
from mlx_spec.verdict.diagnose import Diagnosis, Verdict

TIMED_ON = 16  # tokens, at most, on which a source is timed that has not read the text
USUAL_ROWS = 5  # of a verification, where something is to be said of any


class Engine:
    """Generates with `target`, speculating with `draft` where that can be rolled back exactly.

    Not thread-safe but for `stop`: every other call belongs to the one thread that built the engine.

    Attributes:
        metrics: of the latest generation; live while it runs.
        context_limit: tokens of prompt and answer together.
        session: committed tokens and the target's cache.
        source: the draft source, or None.
    """

    def __init__(
        self,
        target: Any,
        draft: DraftSource | str | None = "lookup",
        *,
        trace: TextIO | None = None,
        session: Session | None = None,
        **options: Any,
    ) -> None:
        """Args:
        target: has `.model` (mlx-lm), `.tokenizer` (decode, get_vocab, eos_token_ids) and `.info`
            (context_length, vocab_size).
        draft: a source, the name of one that needs no loading, or None.
        trace: where to write one JSON line a round.
        session: another engine's on the same target and with the same kv_bits, to go on from its
            cache, one generation at a time; None begins a conversation of its own.
        **options: fields of `EngineOptions`, such as k and kv_bits.

        Raises:
            SpecError: the options do not fit the model.
        """
        self.options = EngineOptions(**options)
        self._target = target
        self._vocabulary = vocabulary(target)
        self.session = session or Session(CachedModel(target.model, self.options.kv_bits, self._vocabulary))
        self.source = drafts.make(draft, target, self.options) if isinstance(draft, str) else draft
        self._decode = decoder(target.tokenizer)
        self._words = Vocabulary(self._decode) if self.options.details else None
        self._end_tokens = frozenset(target.tokenizer.eos_token_ids)
        self._newline = target.tokenizer.encode("\n", add_special_tokens=False)
        self._chunk = chunk_size(self.options, target.model)
        self._target_bytes = parameter_bytes(target.model)
        self._trace = Trace(trace) if trace else None
        self._controller = self._choose_controller()
        self._backend = Backend(self._controller)
        self._diagnosis = Diagnosis(facts(target.model, this_device()))
        self._strict = self._choose_strict()
        if self.options.paranoid and (reason := rows_differ(target.model)):
            raise SpecError(f"Caches cannot be compared with fresh ones: {reason}.", "Leave --paranoid away.")
        self._stopping = threading.Event()
        self._latest: Callable[[], Generator[Round, None, None] | None] = lambda: None
        self.context_limit = self._choose_context(target.info.context_length)
        self.metrics = self._fresh_metrics()

    def _choose_context(self, model_limit: int) -> int:
        asked = self.options.context
        if asked is not None and asked > model_limit:
            raise SpecError(
                f"A context of {asked} tokens was asked for, but this model was made for {model_limit}.",
                f"Use --context {model_limit} or less.",
            )
        return asked or model_limit

    def _choose_controller(self) -> AutoK | FixedK | Off:
        if self.source is None:
            return Off("no draft source was chosen", by_user=True)
        if reason := self.session.target.cannot_roll_back or self.source.unable:
            return Off(reason)
        if self.options.k == 0:
            return Off("K was set to 0", by_user=True)
        if self.options.k != "auto":
            return FixedK(int(self.options.k))
        return AutoK(self.source.name, most=k_max(self.source.free))

    def _choose_strict(self) -> StrictVerifier | None:
        if self.options.exactness == "fast":
            return None
        return StrictVerifier(self.session.target, rows=self._controller.most + 1)

    def _fresh_metrics(self) -> Metrics:
        return Metrics(
            k=self._controller.next_k(),
            state=self._controller.state,
            verdict=self.verdict,
            kernel=self._kernel,
            source=self.source.name if self.source else None,
            context_limit=self.context_limit,
            context_used=len(self.session.committed),
            target_bytes=self._target_bytes,
        )

    def generate(
        self,
        prompt: Sequence[int],
        sampling: Sampling = Sampling(),
        limits: Limits = Limits(),
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Generator[Round, None, None]:
        """Generate after `prompt`, reusing what the cache shares with it.

        An engine has one cache, so a generation that was left unfinished ends here.

        Args:
            prompt: token ids of the whole conversation so far.
            sampling: how tokens are drawn.
            limits: when to end besides at an end token.
            progress: gets (tokens read, tokens to read) after each chunk of text that target or source
                read, in this thread. A source that is first asked in mid-answer catches up then.

        Returns:
            An iterator of rounds; the last one has a finish reason. Closing it early leaves caches
            that are right for what was committed.

        Raises:
            EmptyPrompt, PromptTooLong, SpecError: before anything is computed.
        """
        room = admit(
            prompt,
            sampling,
            limits,
            vocabulary=self._vocabulary,
            end_tokens=self._end_tokens,
            context_limit=self.context_limit,
        )
        self._end_unfinished()
        self._stopping.clear()
        self.metrics = self._fresh_metrics()
        generation = Generation(
            self.session,
            self.source,
            self._controller,
            self._diagnosis,
            self._strict,
            sampler=self.sampler(sampling, len(prompt)),
            stream=TextStream(self._decode, limits.stop),
            words=self._words,
            metrics=self.metrics,
            trace=self._trace,
            paranoid=Paranoid(self._chunk) if self.options.paranoid else None,
            end_tokens=self._end_tokens,
            room=room,
            stopped=self._stopping.is_set,
            forget=self._forget,
        )
        reading = Reading(self._chunk, self._stopping.is_set, progress)
        rounds = generation.rounds(list(prompt), reading)
        self._latest = weakref.ref(rounds)
        return rounds

    def sampler(self, sampling: Sampling, start: int) -> Sampler:
        """What turns this target's logits into tokens, for an answer after `start` tokens."""
        known = range(self._vocabulary)  # a tokenizer may have more ids than the model has rows
        ends = [token for token in self._end_tokens if token in known]
        spared = [*ends, *(token for token in self._newline if token in known)]
        return Sampler(sampling, start=start, ends=ends, spared=spared)

    def stop(self) -> None:
        """End the running generation after its round or chunk of prompt; may be called from any thread."""
        self._stopping.set()

    def export(self) -> tuple[dict[str, mx.array], dict[str, str]]:
        """The committed text and the target's cache, as arrays by name and facts, for `adopt`.

        Ends a generation that was left unfinished.
        """
        self._end_unfinished()
        return snapshot.export(self.session, self._identity)

    def adopt(self, arrays: Mapping[str, mx.array], facts: Mapping[str, str]) -> None:
        """Take up what `export` gave, in this process or another one; the next prompt reuses it.

        Raises:
            SnapshotMismatch: another model, version, tokenizer or precision made it, or it is damaged. The
                engine is then as after `close`.
        """
        self.close()
        snapshot.adopt(self.session, arrays, facts, self._identity)
        if self._strict:
            self._strict.adopt()

    @property
    def verdict(self) -> Verdict:
        """What speculation does here and why, with the numbers behind it."""
        return self._diagnosis.verdict(self._controller)

    def measure(self) -> Generator[None, None, None]:
        """Measure what rounds cost at the present depth, unless that is known; for when nobody waits.

        Yields after each forward pass. It may be left there: what was found is used, and every row and
        the source are as before.
        """
        self._end_unfinished()
        if not self._backend.wants(self.session.target.rows):
            return
        known = self._backend.knows(self.session.target.rows)
        probe = self._probe(known)
        try:
            yield from probe.calls()
        except GeneratorExit:
            raise
        except BaseException:
            self.close()
            raise
        finally:
            if found := probe.measured:
                if known:
                    self._backend.refresh(found)
                else:
                    self.metrics.spoilt = not self._backend.take(found, complete=probe.done)
                self._diagnosis.observe(self._controller)
                self._judge()

    def _judge(self) -> None:
        """Say anew what speculation does: state and verdict of one moment."""
        self.metrics.state, self.metrics.verdict = self._controller.state, self.verdict

    def _probe(self, known: bool) -> Probe:
        sampler, source = self.sampler(Sampling(), 0), self.source
        committed = self.session.committed or [min(self._end_tokens, default=0)]
        if source is not None:
            source.begin(committed, sampler)
            if source.behind and not self._backend.knows_drafting:
                # Reading a long text takes time that nobody may be there to give; its end tells as much.
                source.begin(committed[-TIMED_ON:], sampler)
            if known or source.behind or self._backend.knows_drafting:
                source = None
        return Probe(
            self.session.target,
            source,
            committed,
            sampler,
            most_rows=2 if known else self._controller.most + 1,
            vocabulary=self._vocabulary,
            most_blocks=1 if known else MOST_BLOCKS,
        )

    def recall(self, depths: Mapping[int, Any], controller: Mapping[str, Any] | None) -> None:
        """Take up what `learnt` gave in an earlier run of the same pair on the same backend.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: that is damaged.
        """
        self._backend.recall(depths, controller)
        self._judge()

    def learnt(self) -> dict[str, Any]:
        """What was measured and learnt, JSON-ready: `depths` and `controller`."""
        return self._backend.learnt()

    @cached_property
    def _identity(self) -> dict[str, str]:
        return identity(self._target, self.options.kv_bits)

    @cached_property
    def _kernel(self) -> str | None:
        return explain(self._target.model, min(self._controller.most + 1, USUAL_ROWS), this_device())

    def _end_unfinished(self) -> None:
        if unfinished := self._latest():
            unfinished.close()

    def close(self) -> None:
        """Let go of the caches. The engine can be used again; it then reads its prompt from the start.

        Ends a generation that was left unfinished.
        """
        self._end_unfinished()
        self._forget()

    def _forget(self) -> None:
        self.session.reset()
        if self.source:
            self.source.reset()
