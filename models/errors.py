"""What can go wrong between naming a model and having it in memory."""

from __future__ import annotations

from mlx_spec.errors import SpecError


class ModelError(SpecError):
    """A model is there but cannot be used: damaged, of an unknown kind, or unsafe to load.

    Sentences may quote a file. Whatever is not printable in them, line ends and terminal codes
    included, becomes a space.
    """

    def __init__(self, message: str, next_step: str) -> None:
        super().__init__(_printable(message), _printable(next_step))


class ModelMissing(ModelError):
    """A model is not there: no such file, no such repository, no way to fetch it."""


def first_line(error: Exception) -> str:
    """What a library said when it failed, short enough to stand in a sentence of ours."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:160].rstrip(".")


def _printable(sentence: str) -> str:
    return "".join(char if char.isprintable() else " " for char in sentence)
