"""One answer: rounds until its end, each committed everywhere alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Generator
from dataclasses import asdict, replace

import mlx.core as mx

from mlx_spec.checks.exactness import StrictVerifier
from mlx_spec.checks.paranoid import Paranoid
from mlx_spec.drafter import Drafter
from mlx_spec.drafts.base import NOTHING, DraftSource
from mlx_spec.errors import BrokenInvariant
from mlx_spec.events import Details, FinishReason, Round
from mlx_spec.law.noise import Noise
from mlx_spec.law.sampling import Sampler
from mlx_spec.metrics import Metrics
from mlx_spec.plain import PlainDecoder
from mlx_spec.policy.auto import AutoK
from mlx_spec.policy.controller import FixedK, Off, State
from mlx_spec.policy.step import Step
from mlx_spec.round import Outcome, details_of, verify
from mlx_spec.text import Released, TextStream, Vocabulary
from mlx_spec.trace import Trace
from mlx_spec.turns.reading import Reading
from mlx_spec.turns.session import Session
from mlx_spec.verdict import wording
from mlx_spec.verdict.diagnose import Diagnosis

JUDGE_EVERY = 16  # rounds between verdicts; one takes more time than a plain step may spare
CLEAR_EVERY = 256  # rounds between returns of MLX's unused buffers to the system


class Generation:
    """The loop of one answer over what the engine keeps between answers."""

    def __init__(
        self,
        session: Session,
        source: DraftSource | None,
        controller: AutoK | FixedK | Off,
        diagnosis: Diagnosis,
        strict: StrictVerifier | None,
        *,
        sampler: Sampler,
        stream: TextStream,
        words: Vocabulary | None,
        metrics: Metrics,
        trace: Trace | None,
        paranoid: Paranoid | None,
        end_tokens: Collection[int],
        room: int,
        stopped: Callable[[], bool],
        forget: Callable[[], None],
    ) -> None:
        """Args:
        session: committed tokens and the target's cache.
        source: the draft source; it is not asked while the controller is off.
        controller: names K round by round.
        diagnosis: says what that comes to.
        strict: verifies greedy rounds under strict exactness.
        sampler: this answer's sampling.
        stream: this answer's text.
        words: the tokens' texts, if rounds are to tell their details.
        metrics: takes what happens.
        trace: takes every round.
        paranoid: compares the caches with fresh ones after every round.
        end_tokens: end the answer, and are no part of it.
        room: tokens at most.
        stopped: asked between rounds.
        forget: drops all caches; called after a failure, when nobody knows how far a forward got.
        """
        self._session = session
        self._source = source
        self._drafter = Drafter(source, controller)
        self._controller = controller
        self._diagnosis = diagnosis
        self._cache_notes = strict  # also of sampled answers: the next one may be greedy
        self._strict = strict if sampler.greedy else None
        self._sampler = sampler
        self._stream = stream
        self._words = words
        self._metrics = metrics
        self._trace = trace
        self._paranoid = paranoid
        self._end_tokens = end_tokens
        self._room = room
        self._stopped = stopped
        self._forget = forget
        self._plain = PlainDecoder(session.target, sampler)

    def rounds(self, prompt: list[int], reading: Reading) -> Generator[Round, None, None]:
        """Read the prompt by `reading`, then yield rounds; the last has a finish reason."""
        started = time.perf_counter()
        finish: FinishReason | None = None
        self._open(len(prompt))
        try:
            self._begin(prompt, reading)
            while finish is None:
                read, reading_s = self._catch_up(reading)
                if self._stopped():
                    event = _event(self._stream.flush(), "interrupt")
                else:
                    before, depth = time.perf_counter(), len(self._session.committed)
                    outcome, asked = self._step()
                    now = time.perf_counter()
                    drafted, emitted = len(outcome.drafted), len(outcome.emitted)
                    step = Step(asked, drafted, emitted, now - before, depth, read, reading_s)
                    event = self._commit(outcome, step, now - started)
                finish = event.finish_reason
                yield event
        except GeneratorExit:  # left between two rounds
            raise
        except BaseException as error:
            finish = "interrupt" if isinstance(error, KeyboardInterrupt) else "error"
            self._forget()
            raise
        finally:
            self._plain.ahead = None
            self._session.settle()
            self._close(finish or "interrupt")

    def _open(self, prompt_tokens: int) -> None:
        metrics = self._metrics
        metrics.prompt_tokens = prompt_tokens
        if not self._sampler.greedy and isinstance(self._sampler.dice, Noise):
            metrics.seed = self._sampler.dice.seed
        if self._trace:
            self._trace.begin(prompt_tokens=prompt_tokens, source=metrics.source, seed=metrics.seed)

    def _begin(self, prompt: list[int], reading: Reading) -> None:
        session, drafter, metrics = self._session, self._drafter, self._metrics
        reused = metrics.reused_tokens = session.begin(prompt)
        reading.expect(len(prompt) - 1 - reused)
        drafter.begin(prompt, self._sampler)
        if drafter.k(len(prompt), self._left):
            reading.expect(drafter.behind)
        before = time.perf_counter()
        ends = session.read(prompt, reading)
        metrics.prefilled_tokens = session.target.rows - reused
        self._controller.prefilled(metrics.prefilled_tokens, time.perf_counter() - before)
        metrics.context_used = len(session.committed)
        drafter.rewind(len(prompt) - len(session.committed))  # not read, after a stop
        self._check(exactly=True)
        if self._cache_notes:
            self._cache_notes.begin(session.committed, reused, ends)
        if drafter.source and self._strict and not self._stopped():
            self._strict.measure(session.committed, self._sampler)

    @property
    def _left(self) -> int:
        """Tokens that the answer may still have."""
        return self._room - self._metrics.completion_tokens

    def _catch_up(self, reading: Reading) -> tuple[int, float]:
        """Let the source read what it missed, if it is asked next; tokens read, and seconds."""
        if self._plain.ahead is not None or not self._drafter.k(len(self._session.committed), self._left):
            return 0, 0.0
        read, seconds = self._drafter.catch_up(reading)
        self._metrics.source_prefilled_tokens += read
        return read, seconds

    def _step(self) -> tuple[Outcome, int]:
        """One round of at most the tokens left: speculative if there is anything to verify, else plain.

        Returns:
            The outcome, and for how many tokens the source was asked.
        """
        committed, strict, plain = self._session.committed, self._strict, self._plain
        k = self._drafter.k(len(committed), self._left)
        asked = k if plain.ahead is None else 0
        if asked:
            draft = self._drafter.propose(asked)
            details = self._words is not None
            if len(draft) and strict:
                return strict.verify(committed, draft, self._sampler, details), asked
            if len(draft):
                forward = self._session.target.forward
                return verify(committed, draft, forward, self._sampler, details=details), asked
        if strict and not strict.clean:
            return strict.verify(committed, NOTHING, self._sampler), asked
        # While a source is to be asked next, nothing may run ahead of the token that it needs to know.
        more = not k and self._left > 1
        token = plain.step(committed, more and not self._paranoid)
        if strict:
            strict.plain_step()
        return Outcome([], 0, token), asked

    def _commit(self, outcome: Outcome, step: Step, seconds: float) -> Round:
        """Commit the outcome up to the answer's end, everywhere: session, source, text, metrics, trace.

        Args:
            outcome: of the step.
            step: the same as the controller is told of it.
            seconds: since the request.
        """
        kept, shown, finish = self._keep(outcome)
        accepted = min(outcome.accepted, len(kept))
        details = self._details(outcome)
        self._trace_round(outcome, details, len(kept) - shown.dropped, seconds)
        self._session.commit(kept)
        self._session.rewind(shown.dropped)
        self._drafter.commit(kept, accepted, shown.dropped)
        self._controller.observe(replace(step, behind=self._drafter.behind))
        self._diagnosis.observe(self._controller)
        if self._plain.ahead is None:
            self._session.settle()
            self._check(exactly=not shown.dropped)
            if self._paranoid:
                self._paranoid.check(self._session, self._drafter.source)
        # Drafts past the end of the answer count neither as tested nor as accepted.
        cut = len(kept) < len(outcome.emitted)
        tested = min(len(outcome.drafted), len(kept)) if cut else len(outcome.drafted)
        self._count(tested, accepted, len(kept), shown.dropped, seconds)
        if finish is None and self._metrics.completion_tokens >= self._room:
            finish = "length"
        if finish:
            shown.extend(self._stream.flush())
        return _event(shown, finish, tested, accepted, details if tested else None)

    def _details(self, outcome: Outcome) -> Details | None:
        if self._words is None or outcome.seen is None:
            return None
        return details_of(outcome, outcome.seen, self._words.text, greedy=self._sampler.greedy)

    def _check(self, exactly: bool) -> None:
        """Find out at once, not answers later, that the caches have lost the committed text.

        Args:
            exactly: nothing committed was taken back, which some caches can do by larger steps only.
        """
        rows, tokens = self._session.target.rows, len(self._session.committed)
        if rows >= tokens or (exactly and rows < tokens - 1):
            raise BrokenInvariant(f"the target's cache holds {rows} rows for {tokens} committed tokens")
        self._drafter.check(self._session.committed)

    def _keep(self, outcome: Outcome) -> tuple[list[int], Released, FinishReason | None]:
        """The emitted tokens up to an end token or a stop string, and what of them may be shown."""
        kept: list[int] = []
        shown = Released()
        for i, token in enumerate(outcome.emitted):
            if token in self._end_tokens:
                return kept, shown, "stop"
            kept.append(token)
            shown.extend(self._stream.push(token, self._origin(outcome, i)))
            if shown.stopped:
                return kept, shown, "stop_string"
        return kept, shown, None

    def _origin(self, outcome: Outcome, i: int) -> str:
        if i < outcome.accepted:
            return f"draft:{self._metrics.source}"
        return "target" if outcome.drafted else "plain"

    def _count(self, tested: int, accepted: int, kept: int, dropped: int, seconds: float) -> None:
        metrics = self._metrics
        metrics.record(tested, accepted, kept, seconds)
        metrics.completion_tokens -= dropped
        metrics.k = self._controller.next_k()
        metrics.context_used = len(self._session.committed)
        if self._drafter.stood_down:
            metrics.k = 0
        steps = sum(metrics.k_histogram.values())
        if steps % JUDGE_EVERY == 0 or metrics.state != self._state:
            self._judge()
        if steps % CLEAR_EVERY == 0:
            mx.clear_cache()

    @property
    def _state(self) -> State:
        return "parked" if self._drafter.stood_down else self._controller.state

    def _judge(self) -> None:
        metrics, full = self._metrics, self._drafter.stood_down
        verdict = self._diagnosis.verdict(self._controller)
        if full:
            verdict = replace(
                verdict, kind="parked", cause="context", sentence=wording.off(full), now="parked"
            )
        metrics.state, metrics.verdict = self._state, verdict

    def _trace_round(self, outcome: Outcome, details: Details | None, committed: int, seconds: float) -> None:
        if self._trace:
            self._trace.round(
                position=len(self._session.committed),
                k=len(outcome.drafted),
                drafted=outcome.drafted,
                accepted=outcome.accepted,
                token=outcome.token,
                committed=committed,
                seconds=round(seconds, 6),
                **({"details": asdict(details)} if details else {}),
            )

    def _close(self, finish: FinishReason) -> None:
        metrics = self._metrics
        metrics.finish_reason = finish
        self._judge()
        if self._strict:
            metrics.band = self._strict.band
            metrics.reverified, metrics.replayed = self._strict.reverified, self._strict.replayed
        metrics.draft_bytes = self._source.nbytes if self._source else 0
        metrics.kv_bytes = self._session.target.kv_bytes
        metrics.peak_bytes = mx.get_peak_memory()
        if self._trace:
            self._trace.end(reason=finish, completion_tokens=metrics.completion_tokens)


def _event(
    shown: Released,
    finish: FinishReason | None,
    k: int = 0,
    accepted: int = 0,
    details: Details | None = None,
) -> Round:
    return Round(shown.tokens, shown.origins, shown.pieces, k, accepted, finish, details)
