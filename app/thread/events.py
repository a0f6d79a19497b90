"""What the engine thread tells the screen. Nothing that crosses over holds an array."""

from __future__ import annotations

import os
import traceback
from dataclasses import dataclass, field, replace
from typing import Any

from app.errors import exit_code, sentence
from app.thinking import Markers
from app.thread.memory import Memory
from mlx_spec.errors import PromptTooLong, SpecError
from mlx_spec.events import FinishReason, Round
from mlx_spec.verdict.diagnose import Verdict
from models.amount import in_bytes


@dataclass(frozen=True)
class Snapshot:
    """The engine's metrics at one moment, copied on the engine thread. Unknown values are None.

    Attributes:
        k: draft tokens of the next round.
        tok_s: tokens a second.
        acceptance_rate: accepted / drafted.
        acceptance_length: tokens a speculative round.
        ttft_s: seconds to the first token.
        context_used: tokens of context in use.
        completion_tokens: tokens of the answer so far.
        state: off, measuring, speculating or parked.
        source: the draft source's name, or None.
        prompt_tokens: tokens of the prompt.
        reused_tokens: those of them that need not be read.
        verdict: on speculation, with the numbers behind it and in words: nothing else says why. None while
            there is none.
        spoilt: other programs kept the machine too busy to measure it.
        kernel: which kernel is expected to verify, as an explanation; None where nobody knows.
        hazards: for each position in a draft, accepted / tested; None where none was tested.
        tested: how often each position was.
        target_bytes: of the target's weights.
    """

    k: int
    tok_s: float | None
    acceptance_rate: float | None
    acceptance_length: float | None
    ttft_s: float | None
    context_used: int
    completion_tokens: int
    state: str
    source: str | None
    prompt_tokens: int = 0
    reused_tokens: int = 0
    verdict: Verdict | None = None
    spoilt: bool = False
    kernel: str | None = None
    hazards: tuple[float | None, ...] = ()
    tested: tuple[int, ...] = ()
    target_bytes: int = 0

    @classmethod
    def of(cls, metrics: Any) -> Snapshot:
        """Copy `metrics` (mlx_spec.metrics.Metrics)."""
        return cls(
            k=metrics.k,
            tok_s=metrics.tok_s,
            acceptance_rate=metrics.acceptance_rate,
            acceptance_length=metrics.acceptance_length,
            ttft_s=metrics.ttft_s,
            context_used=metrics.context_used,
            completion_tokens=metrics.completion_tokens,
            state=metrics.state,
            source=metrics.source,
            verdict=metrics.verdict,
            spoilt=metrics.spoilt,
            kernel=metrics.kernel,
            hazards=tuple(metrics.acceptance_by_position),
            tested=tuple(metrics.tested_at),
            prompt_tokens=metrics.prompt_tokens,
            reused_tokens=metrics.reused_tokens,
            target_bytes=metrics.target_bytes,
        )

    def at_start(self) -> Snapshot:
        """What is still true of the last answer's numbers when a new one begins."""
        return replace(self, tok_s=None, acceptance_rate=None, acceptance_length=None, ttft_s=None)


@dataclass(frozen=True)
class Loading:
    """The model is being loaded; `sentence` says how far it is."""

    sentence: str


@dataclass(frozen=True)
class Ready:
    """The model is loaded.

    Attributes:
        model, draft: names for the screen.
        context_limit: tokens.
        context_full: what happens when the context is full: stop or drop.
        warnings: sentences that the user must see.
        snapshot: the metrics before the first answer.
    """

    model: str
    draft: str
    context_limit: int
    context_full: str
    warnings: tuple[str, ...]
    snapshot: Snapshot


@dataclass(frozen=True)
class Retuned:
    """The same target speculates otherwise from now on.

    Attributes:
        draft: the draft source, a name for the screen.
        k: as the settings have it now: a number, or auto.
        warnings: sentences that the user must see.
        snapshot: the metrics before the next answer.
    """

    draft: str
    k: int | str
    warnings: tuple[str, ...]
    snapshot: Snapshot


@dataclass(frozen=True)
class Switching:
    """Another pair is about to be loaded; the old one is freed first.

    Attributes:
        model, draft: what is coming, as options name them.
        memory: with the old pair still there.
    """

    model: str
    draft: str
    memory: Memory


@dataclass(frozen=True)
class Switched:
    """A switch is over; a `Ready` came just before with what is loaded now.

    Attributes:
        before, freed, after: memory with the old pair, with none, and with the one that is there now.
        restored: it is the old one again, since the other could not be loaded: a `Refused` said why.
    """

    before: Memory
    freed: Memory
    after: Memory
    restored: bool = False

    @property
    def sentence(self) -> str:
        """Memory before and after, for the screen."""
        before, freed, after = self.before, self.freed, self.after
        return (
            f"Memory of the models: {in_bytes(before.active)} before, {in_bytes(freed.active)} between, "
            f"{in_bytes(after.active)} now (peak {in_bytes(after.peak)}; "
            f"the whole program {in_bytes(before.process)}, then {in_bytes(after.process)})."
        )


@dataclass(frozen=True)
class Refused:
    """Another K, draft source or pair could not be had: a sentence why, and one on what to do.

    After a refused K or draft source all is as it was. After a refused pair the old one is loaded again:
    `Ready` and `Switched` follow, or a `Failed` if that cannot be had any more either.
    """

    message: str
    next_step: str
    exit_code: int


@dataclass(frozen=True)
class Measured:
    """While nobody waited, the backend was measured; the snapshot's verdict knows it."""

    snapshot: Snapshot


@dataclass(frozen=True)
class Started:
    """The engine took up a request and reads its prompt.

    Attributes:
        markers: around the thinking of the answer that comes.
        notices: sentences about the prompt that the user must see.
    """

    markers: Markers = field(default_factory=Markers)
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Prefilled:
    """A part of the prompt is read: `read` tokens of `total` that must be."""

    read: int
    total: int


@dataclass(frozen=True)
class Emitted:
    """A round came back."""

    round: Round
    snapshot: Snapshot


@dataclass(frozen=True)
class Finished:
    """An answer ended, because the context has no room for more if `context_full`."""

    reason: FinishReason
    context_full: bool = False


@dataclass(frozen=True)
class Warned:
    """Something that the user must be told, though nothing failed: one sentence."""

    sentence: str


@dataclass(frozen=True)
class Failed:
    """Loading or a request failed; the thread lives on.

    Attributes:
        message: one sentence that says what is wrong; the traceback instead if SPECCHAT_DEBUG is set.
        next_step: one that says what to do; may be empty.
        exit_code: what the program returns if it cannot go on.
        loading: there is no model now, so no request can be answered.
        too_long: the prompt does not fit the context.
    """

    message: str
    next_step: str
    exit_code: int
    loading: bool = False
    too_long: bool = False

    @classmethod
    def of(cls, error: Exception, *, loading: bool = False) -> Failed:
        if os.environ.get("SPECCHAT_DEBUG"):
            return cls("".join(traceback.format_exception(error)), "", exit_code(error), loading)
        if isinstance(error, SpecError):
            too_long = isinstance(error, PromptTooLong)
            return cls(error.message, error.next_step, exit_code(error), loading, too_long)
        return cls(sentence(error), "", exit_code(error), loading)


Event = (
    Loading
    | Ready
    | Retuned
    | Switching
    | Switched
    | Refused
    | Measured
    | Started
    | Prefilled
    | Emitted
    | Finished
    | Warned
    | Failed
)
