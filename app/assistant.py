"""One target, one engine, and the chat template that turns a conversation into prompt tokens."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO

from app.measurements import Kept, Measurements, backend
from app.measurements import pair as of_pair
from app.settings import Settings
from mlx_spec.errors import SpecError
from mlx_spec.events import Round
from models import locations
from models.errors import ModelError

if TYPE_CHECKING:
    from mlx_spec.drafts.base import DraftSource

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Message:
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


class Assistant:
    """Answers conversations. Every call but `stop` belongs to the thread that loaded it.

    Attributes:
        model: the target's name for the screen.
        draft: the draft source as an option names it; "none" without one.
        context_limit: tokens.
        warnings: sentences that the person must see.
    """

    def __init__(self, settings: Settings, target: Any, engine: Any, draft: str) -> None:
        info = target.info
        self.model = f"{info.name} ({info.quantization or info.dtype})"
        self.draft = draft
        self.context_limit: int = engine.context_limit
        self.warnings = list(settings.warnings)
        self._settings = settings
        self._tokenizer = target.tokenizer
        self._engine = engine
        self._held = ExitStack()
        self._measurements: Measurements | None = None
        if not self._tokenizer.has_chat_template:
            self.warnings.append(
                f"{info.name} has no chat template: it goes on with your text instead of answering it."
            )

    @classmethod
    def load(cls, settings: Settings, progress: Progress) -> Assistant:
        """Load the target, its draft source and the engine.

        Args:
            settings: what the person set.
            progress: gets sentences about what is going on.

        Raises:
            SpecError: the trace cannot be written, the models cannot be had or do not fit together.
        """
        with ExitStack() as held:
            # First, so that a bad file name does not cost the time that a model takes to load.
            trace = held.enter_context(_append_to(settings.trace)) if settings.trace else None

            from mlx_spec import Engine

            pair = load_pair(settings, progress)
            engine = Engine(pair.target, pair.source, trace=trace, **asdict(settings.engine))
            held.callback(engine.close)
            assistant = cls(settings, pair.target, engine, pair.draft)
            assistant._recall(pair)
            assistant._held = held.pop_all()
            return assistant

    def _recall(self, pair: Pair) -> None:
        """Take up what earlier runs measured with this pair on this backend."""
        key = {**backend(), **of_pair(pair.target.info, pair.draft, self._settings.engine.kv_bits)}
        self._measurements = Measurements(locations.cache_dir() / "measurements", key)
        kept, warning = self._measurements.read()
        if warning:
            self.warnings.append(warning)
        try:
            self._engine.recall(kept.depths, kept.controller)
        except (KeyError, TypeError, ValueError, AttributeError):
            self.warnings.append(self._measurements.unusable("it is damaged"))

    def answer(self, messages: Sequence[Message]) -> Generator[Round, None, None]:
        """Stream the answer to a conversation; its last event carries the finish reason.

        A `stop` counts from when this returns.

        Raises:
            SpecError: the conversation does not fit the context or the template.
        """
        rounds: Generator[Round, None, None] = self._engine.generate(
            prompt_tokens(self._tokenizer, messages, self._settings.system),
            self._settings.sampling,
            self._settings.limits,
        )
        return rounds

    def measure(self) -> Generator[None, None, None]:
        """Measure what the backend charges, where that is not known yet; for when nobody waits.

        Yields between the calls, and may be left there. `keep` keeps what was found.
        """
        calls: Generator[None, None, None] = self._engine.measure()
        return calls

    def keep(self) -> str | None:
        """Keep what was measured and learnt for the next start; a sentence if that failed."""
        kept = Kept(**self._engine.learnt())
        if self._measurements is None or kept == Kept():
            return None
        return self._measurements.write(kept)

    @property
    def metrics(self) -> Any:
        """What happened in the latest answer: `mlx_spec.metrics`."""
        return self._engine.metrics

    def stop(self) -> None:
        """End the running answer and keep what it has. May be called from any thread."""
        self._engine.stop()

    def close(self) -> None:
        """Free the caches and close the trace."""
        self._held.close()


@dataclass(frozen=True)
class Pair:
    """A target and what drafts for it.

    Attributes:
        target: from `models.load`.
        source: None without one.
        draft: its name as an option names it.
    """

    target: Any
    source: DraftSource | None
    draft: str


def load_pair(settings: Settings, progress: Progress) -> Pair:
    """Load the target and its draft source.

    Raises:
        SpecError: the models cannot be had or do not fit together.
    """
    from mlx_spec import drafts
    from models import load

    target = load(settings.model, dtype=settings.dtype, progress=progress)
    draft = "lookup" if settings.draft == "auto" else settings.draft
    kind, _, ref = draft.partition(":")
    if kind != "model":
        return Pair(target, drafts.make(draft, target, settings.engine), draft)
    model = load(ref, dtype=settings.dtype, progress=progress)
    return Pair(target, drafts.model_source(target, model, settings.engine), draft)


def prompt_tokens(tokenizer: Any, messages: Sequence[Message], system: str | None) -> list[int]:
    """The token ids of a conversation by the model's chat template, or of its bare text without one.

    Args:
        tokenizer: of the target.
        messages: the turns.
        system: the system prompt; None leaves it to the template.
    """
    if system is not None:
        messages = [Message("system", system), *messages]
    if not tokenizer.has_chat_template:
        return list(tokenizer.encode("\n".join(message.content for message in messages)))

    from models.tokenizer import render_chat

    turns = [{"role": message.role, "content": message.content} for message in messages]
    try:
        return render_chat(tokenizer, turns)
    except ModelError as error:
        if system is None:
            raise
        raise ModelError(error.message, "Try without a system prompt.") from error


@contextmanager
def _append_to(trace: Path) -> Iterator[TextIO]:
    try:
        stream = trace.open("a", encoding="utf-8")
    except OSError as error:
        raise SpecError(
            f"The trace {trace} cannot be written: {error.strerror}.", "Name another file with --trace."
        ) from None
    try:
        yield stream
    finally:
        # Each line was flushed when it was written: what fails here has been told already.
        with suppress(OSError):
            stream.close()
