"""The engine: one target, one draft source, one conversation. Tokens go in, rounds come out.

It knows nothing of chat messages; a caller renders them to token ids.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Generator, Sequence
from typing import Any, TextIO

import mlx.core as mx

from mlx_spec import drafts
from mlx_spec.caches import CachedModel, parameter_bytes
from mlx_spec.drafts.base import NOTHING, DraftSource
from mlx_spec.errors import EmptyPrompt, PromptTooLong, SpecError
from mlx_spec.events import FinishReason, Round
from mlx_spec.exactness import StrictVerifier
from mlx_spec.metrics import Metrics
from mlx_spec.options import EngineOptions, Limits, Sampling
from mlx_spec.plain import PlainDecoder
from mlx_spec.policy.controller import Controller, FixedK, TrialK
from mlx_spec.round import Outcome, verify
from mlx_spec.sampling import Noise, Sampler
from mlx_spec.session import Session
from mlx_spec.text import Released, TextStream, decoder, vocabulary
from mlx_spec.trace import Trace

CLEAR_EVERY = 256  # rounds between returns of MLX's unused buffers to the system


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
        **options: Any,
    ) -> None:
        """Args:
        target: has `.model` (mlx-lm), `.tokenizer` (decode, get_vocab, eos_token_ids) and `.info`
            (context_length, vocab_size).
        draft: a source, the name of one that needs no loading, or None.
        trace: where to write one JSON line a round.
        **options: fields of `EngineOptions`, such as k and kv_bits.

        Raises:
            SpecError: the options do not fit the model.
        """
        self.options = EngineOptions(**options)
        self._vocabulary = vocabulary(target)
        self.session = Session(CachedModel(target.model, self.options.kv_bits, self._vocabulary))
        self.source = drafts.make(draft, target, self.options) if isinstance(draft, str) else draft
        self._decode = decoder(target.tokenizer)
        self._end_tokens = frozenset(target.tokenizer.eos_token_ids)
        self._newline = target.tokenizer.encode("\n", add_special_tokens=False)
        self._strict = self._choose_strict()
        self._target_bytes = parameter_bytes(target.model)
        self._trace = Trace(trace) if trace else None
        self._controller = self._choose_controller()
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

    def _choose_controller(self) -> Controller:
        if self.source is None:
            return FixedK(0, "no draft source was chosen")
        if reason := self.session.target.cannot_roll_back or self.source.unable:
            return FixedK(0, reason)
        if self.options.k == 0:
            return FixedK(0, "K was set to 0")
        return TrialK() if self.options.k == "auto" else FixedK(int(self.options.k))

    def _choose_strict(self) -> StrictVerifier | None:
        if self.options.exactness == "fast":
            return None
        most = TrialK.K if self.options.k == "auto" else int(self.options.k)
        return StrictVerifier(self.session.target, rows=most + 1)

    def _fresh_metrics(self) -> Metrics:
        return Metrics(
            state=self._controller.state,
            reason=self._controller.reason,
            source=self.source.name if self.source else None,
            target_bytes=self._target_bytes,
        )

    def generate(
        self,
        prompt: Sequence[int],
        sampling: Sampling = Sampling(),
        limits: Limits = Limits(),
    ) -> Generator[Round, None, None]:
        """Generate after `prompt`, reusing what the cache shares with it.

        An engine has one cache, so a generation that was left unfinished ends here.

        Args:
            prompt: token ids of the whole conversation so far.
            sampling: how tokens are drawn.
            limits: when to end besides at an end token.

        Returns:
            An iterator of rounds; the last one has a finish reason. Closing it early leaves caches
            that are right for what was committed.

        Raises:
            EmptyPrompt, PromptTooLong, SpecError: before anything is computed.
        """
        if not prompt:
            raise EmptyPrompt("The prompt is empty.", "Write something first.")
        last = self._vocabulary - 1
        if unknown := [token for token, _ in sampling.logit_bias if not 0 <= token <= last]:
            raise SpecError(
                f"The logit bias names token {unknown[0]}; this model's tokens are 0 to {last}.",
                "Name another token id.",
            )
        # MLX does not check an index: it would read beyond the embeddings.
        if not all(0 <= token < self._vocabulary for token in prompt):
            raise SpecError(
                f"The prompt has a token that is not among the model's {self._vocabulary}.",
                "Use the tokenizer that belongs to the model.",
            )
        room = self.context_limit - len(prompt)
        if room < 1:
            raise PromptTooLong(
                f"The prompt has {len(prompt)} tokens, and the context holds {self.context_limit} "
                "with the answer.",
                "Shorten it, start a new chat, or raise --context if the model allows it.",
            )
        if limits.max_tokens >= 0:
            room = min(room, limits.max_tokens)
        if unfinished := self._latest():
            unfinished.close()
        self._stopping.clear()
        self.metrics = self._fresh_metrics()
        self.metrics.prompt_tokens = len(prompt)
        rounds = self._generate(list(prompt), self.sampler(sampling, len(prompt)), limits, room)
        self._latest = weakref.ref(rounds)
        return rounds

    def sampler(self, sampling: Sampling, start: int) -> Sampler:
        """What turns this target's logits into tokens, for an answer after `start` tokens."""
        known = range(self._vocabulary)  # a tokenizer may have more ids than the model has rows
        ends = [token for token in self._end_tokens if token in known]
        spared = [*ends, *(token for token in self._newline if token in known)]
        return Sampler(sampling, start=start, ends=ends, spared=spared)

    def _generate(
        self, prompt: list[int], sampler: Sampler, limits: Limits, room: int
    ) -> Generator[Round, None, None]:
        started = time.perf_counter()
        metrics, session, source = self.metrics, self.session, self.source
        if not sampler.greedy and isinstance(sampler.dice, Noise):
            metrics.seed = sampler.dice.seed
        if self._trace:
            self._trace.begin(prompt_tokens=len(prompt), source=metrics.source, seed=metrics.seed)
        stream = TextStream(self._decode, limits.stop)
        plain = PlainDecoder(session.target, sampler)
        finish: FinishReason | None = None
        try:
            metrics.reused_tokens = session.begin(prompt, self.options.prefill_chunk, self._stopping.is_set)
            if source and self._controller.state != "off" and not self._stopping.is_set():
                source.begin(session.committed, sampler)
                if self._strict:
                    self._strict.begin(session.committed, metrics.reused_tokens)
            while finish is None:
                if self._stopping.is_set():
                    event = self._event(Outcome([], 0, 0), stream.flush(), "interrupt")
                else:
                    before = time.perf_counter()
                    outcome = self._step(plain, sampler, room - metrics.completion_tokens)
                    now = time.perf_counter()
                    self._controller.observe(len(outcome.drafted), len(outcome.emitted), now - before)
                    event = self._commit(outcome, stream, room, now - started)
                    if plain.ahead is None:
                        session.settle()
                finish = event.finish_reason
                yield event
        except GeneratorExit:  # left between two rounds
            raise
        except BaseException as error:
            finish = "interrupt" if isinstance(error, KeyboardInterrupt) else "error"
            self._forget()  # nobody knows how far a forward got that failed
            raise
        finally:
            plain.ahead = None
            session.settle()
            metrics.finish_reason = finish or "interrupt"
            if self._strict and sampler.greedy:
                metrics.band = self._strict.band
                metrics.reverified, metrics.replayed = self._strict.reverified, self._strict.replayed
            metrics.draft_bytes = source.nbytes if source else 0
            metrics.kv_bytes = session.target.kv_bytes
            metrics.peak_bytes = mx.get_peak_memory()
            if self._trace:
                self._trace.end(reason=metrics.finish_reason, completion_tokens=metrics.completion_tokens)

    def _step(self, plain: PlainDecoder, sampler: Sampler, left: int) -> Outcome:
        """One round of at most `left` tokens: speculative if there is anything to verify, else plain."""
        committed = self.session.committed
        strict = self._strict if sampler.greedy else None
        k = min(self._controller.next_k(), left - 1)
        if k > 0 and plain.ahead is None and self.source is not None:
            draft = self.source.propose(k)
            if len(draft) > k:
                raise ValueError(f"{self.source.name} proposed {len(draft)} tokens instead of at most {k}")
            if len(draft) and strict:
                return strict.verify(committed, draft, sampler)
            if len(draft):
                return verify(committed, draft, self.session.target.forward, sampler)
        # While a source is to be asked next, nothing may run ahead of the token that it needs to know.
        if strict and not strict.clean:
            return strict.verify(committed, NOTHING, sampler)
        token = plain.step(committed, more=k <= 0 and left > 1)
        if strict:
            strict.plain_step()
        return Outcome([], 0, token)

    def _commit(self, outcome: Outcome, stream: TextStream, room: int, seconds: float) -> Round:
        """Commit the outcome up to the answer's end, everywhere: session, source, text, metrics, trace."""
        metrics, session = self.metrics, self.session
        shown = Released()
        finish: FinishReason | None = None
        kept: list[int] = []
        for i, token in enumerate(outcome.emitted):
            if token in self._end_tokens:
                finish = "stop"
                break
            kept.append(token)
            shown.extend(stream.push(token, self._origin(outcome, i)))
            if shown.stopped:
                finish = "stop_string"
                break
        accepted = min(outcome.accepted, len(kept))
        if self._trace:
            self._trace.round(
                position=len(session.committed),
                k=len(outcome.drafted),
                drafted=outcome.drafted,
                accepted=outcome.accepted,
                token=outcome.token,
                committed=len(kept) - shown.dropped,
                seconds=round(seconds, 6),
            )
        session.commit(kept)
        session.rewind(shown.dropped)
        if self.source and self._controller.state != "off":
            self.source.commit(kept, accepted)
            self.source.rewind(shown.dropped)
        # Drafts past the end of the answer count neither as tested nor as accepted.
        cut = len(kept) < len(outcome.emitted)
        tested = min(len(outcome.drafted), len(kept)) if cut else len(outcome.drafted)
        metrics.record(tested, accepted, len(kept), seconds)
        metrics.completion_tokens -= shown.dropped
        metrics.k = self._controller.next_k()
        metrics.context_used = len(session.committed)
        metrics.state, metrics.reason = self._controller.state, self._controller.reason
        if sum(metrics.k_histogram.values()) % CLEAR_EVERY == 0:
            mx.clear_cache()
        if finish is None and metrics.completion_tokens >= room:
            finish = "length"
        if finish:
            shown.extend(stream.flush())
        return self._event(outcome, shown, finish)

    def _origin(self, outcome: Outcome, i: int) -> str:
        if i < outcome.accepted:
            return f"draft:{self.metrics.source}"
        return "target" if outcome.drafted else "plain"

    @staticmethod
    def _event(outcome: Outcome, shown: Released, finish: FinishReason | None) -> Round:
        return Round(
            shown.tokens, shown.origins, shown.pieces, len(outcome.drafted), outcome.accepted, finish
        )

    def stop(self) -> None:
        """End the running generation after its current round; may be called from any thread."""
        self._stopping.set()

    def close(self) -> None:
        """Let go of the caches. The engine can be used again; it then reads its prompt from the start."""
        self._forget()

    def _forget(self) -> None:
        self.session.reset()
        if self.source:
            self.source.reset()
