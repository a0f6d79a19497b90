"""One target, one engine, and the chat template that turns a conversation into prompt tokens."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from app.assistant.fitting import fit
from app.assistant.measurements import Kept, Measurements, of_backend, of_pair
from app.assistant.pair import Pair, Progress, load_pair, pair_with
from app.assistant.prompt_cache import PromptCache
from app.assistant.template import Message, Template
from app.settings.settings import Settings
from app.thinking import Markers
from mlx_spec.errors import PromptTooLong, SpecError
from mlx_spec.events import Round
from models import locations

PromptProgress = Callable[[int, int], None]
"""Is told how many tokens of a prompt are read, and how many are to be."""


class Assistant:
    """Answers conversations. Every call but `stop` belongs to the thread that loaded it.

    Attributes:
        model: the target's name for the screen.
        draft: the draft source as an option names it; "none" without one.
        context_limit: tokens.
        context_full: what to do when it is full, unless `answer` is told otherwise: stop or drop.
        warnings: sentences that the person must see.
        markers: around the thinking of the latest answer.
        notices: sentences about the latest prompt that the person must see.
    """

    def __init__(self, settings: Settings, pair: Pair, engine: Any, trace: TextIO | None = None) -> None:
        target = pair.target
        info = target.info
        self.model = f"{info.name} ({info.quantization or info.dtype})"
        self.draft = pair.draft
        self.context_limit: int = engine.context_limit
        self.context_full = settings.context_full
        self.warnings = list(settings.warnings)
        self.markers = Markers()
        self.notices: list[str] = []
        self._longest_context: int = info.context_length
        self._settings = settings
        self._template = Template(target.tokenizer, settings.system)
        self._pair = pair
        self._engine = engine
        self._trace = trace
        self._cache: PromptCache | None = None
        self._held = ExitStack()
        self._measurements: Measurements | None = None
        if not target.tokenizer.has_chat_template:
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
            UsageError: the prompt cache names a file that is something else.
            SpecError: the trace cannot be written, the models cannot be had or do not fit together.
        """
        with ExitStack() as held:
            # First, so that a bad file name does not cost the time that a model takes to load.
            cache = PromptCache(settings.cache) if settings.cache else None
            trace = held.enter_context(_append_to(settings.trace)) if settings.trace else None

            pair = load_pair(settings, progress)
            engine = _engine(pair, settings, trace)
            assistant = cls(settings, pair, engine, trace)
            assistant._measurements = assistant._recall(engine, pair)
            if cache:
                progress("Opening the prompt cache")
                assistant._cache = cache
                assistant.warnings += filter(None, [cache.load(engine)])
            assistant._held = held.pop_all()
            return assistant

    def _recall(self, engine: Any, pair: Pair) -> Measurements:
        """Let `engine` take up what earlier runs measured with this pair on this backend."""
        key = {**of_backend(), **of_pair(pair.target.info, pair.draft, self._settings.engine.kv_bits)}
        measurements = Measurements(locations.cache_dir() / "measurements", key)
        kept, warning = measurements.read()
        if warning:
            self.warnings.append(warning)
        try:
            engine.recall(kept.depths, kept.controller)
        except (KeyError, TypeError, ValueError, AttributeError):
            self.warnings.append(measurements.unusable("it is damaged"))
        return measurements

    def retune(self, settings: Settings, progress: Progress) -> None:
        """Speculate otherwise from the next answer on, with the same target and all that it has read.

        For when no answer runs. Sets `draft` and `metrics`, and `warnings` to what is new. After an
        error all is as it was.

        Args:
            settings: those of now, but for k and draft.
            progress: gets sentences about what is going on.

        Raises:
            SpecError: the draft model cannot be had or does not fit the target.
        """
        pair = self._pair
        if settings.draft != self._settings.draft:
            pair = pair_with(pair.target, settings, progress)
        engine = _engine(pair, settings, self._trace, self._engine.session)
        self.warnings = list(filter(None, [self.keep()]))
        self._measurements = self._recall(engine, pair)
        if settings.exactness == "strict":
            # Which of the rows are plain decoding's own, only the old engine knows: they are read again.
            self._engine.close()
        self._settings, self._pair, self._engine = settings, pair, engine
        self.draft = pair.draft

    def answer(
        self,
        messages: Sequence[Message],
        *,
        context_full: str | None = None,
        progress: PromptProgress = lambda read, total: None,
    ) -> Generator[Round, None, None]:
        """Stream the answer to a conversation; its last event carries the finish reason.

        A `stop` counts from when this returns.

        Args:
            messages: the turns, the last of which is the user's, or an answer that is to go on.
            context_full: stop or drop; None takes the assistant's own.
            progress: is called while a long prompt is read.

        Raises:
            SpecError: the conversation does not fit the context or the template.
        """
        context_full = context_full or self.context_full
        tokens = self._prompt(messages, context_full)
        try:
            rounds: Generator[Round, None, None] = self._engine.generate(
                tokens, self._settings.sampling, self._settings.limits, progress
            )
        except PromptTooLong as error:
            raise PromptTooLong(error.message, self._ways_out(messages, context_full)) from None
        return rounds

    def _prompt(self, messages: Sequence[Message], context_full: str) -> list[int]:
        """The tokens of a conversation; sets `markers` and `notices`."""
        self.notices = []
        asked = messages[-1].role == "user"  # an unfinished answer may well contain its own markers
        if asked and (found := self._template.markers_in(messages[-1].content)):
            self.notices.append(
                f"The prompt contains {', '.join(found)}: the model takes that for its own control marker "
                "and not for text."
            )
        if context_full == "stop":
            tokens = self._template.tokens(messages)
        else:
            longest = self._settings.max_tokens
            fitted = fit(
                messages,
                self._template.tokens,
                limit=self.context_limit,
                answer=longest if longest > 0 else self.context_limit,
            )
            tokens = fitted.tokens
            if fitted.left_out:
                self.notices.append(
                    f"The context of {self.context_limit:,} tokens is full: the model no longer sees the "
                    f"oldest {fitted.left_out} messages."
                )
        self.markers = self._template.markers(tokens)
        return tokens

    def _ways_out(self, messages: Sequence[Message], context_full: str) -> str:
        """What to do about a prompt that does not fit."""
        ways = ["Shorten it"]
        if self.context_limit < self._longest_context:
            ways.append(f"raise --context (to {self._longest_context} at most)")
        if len(messages) > 1 and context_full == "stop":
            ways += ["start a new chat", "let the oldest turns go with --context-full drop"]
        return f"{', '.join(ways[:-1])}{' or ' if ways[:-1] else ''}{ways[-1]}."

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

    def save(self) -> str | None:
        """Keep what the model has read, if there is a prompt cache.

        Returns:
            A sentence if that failed: the answers stand all the same.
        """
        return self._cache.save(self._engine) if self._cache else None

    def stop(self) -> None:
        """End the running answer and keep what it has. May be called from any thread."""
        self._engine.stop()

    def close(self) -> None:
        """Free the caches and close the trace."""
        self._engine.close()
        self._held.close()


def _engine(pair: Pair, settings: Settings, trace: TextIO | None, session: Any = None) -> Any:
    from mlx_spec import Engine

    return Engine(pair.target, pair.source, trace=trace, session=session, **asdict(settings.engine))


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
