"""What can go wrong for a reason that the user can act on."""

from __future__ import annotations


class SpecError(Exception):
    """A failure told in one sentence, with the next step to take.

    Attributes:
        message: what happened, one sentence.
        next_step: what to do about it, one sentence.
    """

    def __init__(self, message: str, next_step: str) -> None:
        super().__init__(message, next_step)
        self.message = message
        self.next_step = next_step

    def __str__(self) -> str:
        return f"{self.message} {self.next_step}"
