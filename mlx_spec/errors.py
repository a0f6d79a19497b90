"""What can go wrong in the engine, each with the next step for the person who reads it."""

from __future__ import annotations


class SpecError(Exception):
    """A failure that a person can act on.

    Attributes:
        message: one sentence that says what is wrong.
        next_step: one sentence that says what to do; empty if there is nothing to do.
    """

    def __init__(self, message: str, next_step: str = "") -> None:
        super().__init__(f"{message} {next_step}".strip())
        self.message = message
        self.next_step = next_step


class EmptyPrompt(SpecError):
    """There is no token to start from."""


class PromptTooLong(SpecError):
    """The prompt leaves no room in the context for an answer."""


class PairMismatch(SpecError):
    """Target and draft model do not share a tokenizer, so the draft's tokens mean nothing to the target."""


class UnsupportedCache(SpecError):
    """The model's cache cannot do what was asked of it."""


class BrokenInvariant(SpecError):
    """The engine's own state contradicts itself: a bug of the engine, which then starts afresh."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"This is a bug in the engine, not in what you did: {what}.",
            "Ask again, which starts with empty caches, and please report it.",
        )


class SnapshotMismatch(SpecError):
    """A saved cache is not this engine's, or is damaged: `what` says why, as a clause."""

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(f"The saved cache does not fit: {what}.", "Its text is read again.")


class CacheMismatch(SpecError):
    """A cache does not hold the text that was committed."""


class NotFinite(SpecError):
    """The target computes logits that are not numbers."""

    def __init__(self) -> None:
        super().__init__(
            "The model computes NaN (not a number) instead of logits, so it has no next token.",
            "Load it with --dtype float32, or choose another model: this one is broken or overflows.",
        )
