"""The files that go with the next question: attached by a command, or named in it as @path."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from app.errors import UsageError
from app.files.mentions import mentions, misses
from app.files.names import path_of
from app.files.reading import read, size
from app.files.records import Attachment

A_TOKEN = 4  # characters, roughly: the tokenizer is on another thread


class Tray:
    """Files that wait for a question.

    Attributes:
        files: in the order in which they came, each path once.
    """

    def __init__(self) -> None:
        self.files: list[Attachment] = []

    def put(self, path: str | Path) -> Attachment:
        """Read a file; what the same path held before goes.

        Raises:
            FileError: it cannot be attached.
        """
        file = read(path)
        self.files = [*(other for other in self.files if other.path != file.path), file]
        return file

    def remove(self, path: str) -> list[Attachment]:
        """Take a file out, or all if `path` is empty; returns what went.

        Raises:
            UsageError: there is none, or none of that name.
        """
        if not self.files:
            raise UsageError("No file waits for a question.", "/attach PATH puts one there.")
        whole = str(path_of(path, Path.cwd()))
        gone = [file for file in self.files if not path or path == Path(file.path).name or whole == file.path]
        if not gone:
            names = ", ".join(Path(file.path).name for file in self.files)
            raise UsageError(f"No file {path} waits for a question.", f"There are: {names}.")
        self.files = [file for file in self.files if file not in gone]
        return gone

    def take(self, question: str) -> tuple[Attachment, ...]:
        """The files of a question, which names more of them or none; the tray is empty afterwards.

        Raises:
            FileError: a file that is named cannot be attached; the tray is as it was.
        """
        before = self.files
        try:
            for mention in mentions(question, Path.cwd()):
                self.put(mention.path)
        except BaseException:
            self.files = before
            raise
        files, self.files = tuple(self.files), []
        return files


def told(file: Attachment) -> str:
    """A file in a few words: its name and size."""
    return f"{Path(file.path).name} ({size(file)})"


def too_long(files: Sequence[Attachment], limit: int | None) -> str:
    """A sentence, if these files alone are more than a context can hold.

    Args:
        files: of one question.
        limit: tokens that the context can hold; None while that is not known.
    """
    tokens = sum(len(file.text) for file in files) // A_TOKEN
    if limit is None or tokens <= limit:
        return ""
    return f"That is about {tokens:,} tokens, which the context of {limit:,} tokens cannot hold."


def remarks(question: str, files: Sequence[Attachment], limit: int | None) -> str:
    """What a person should know of a question that is asked; empty if there is nothing.

    Args:
        question: what was written.
        files: that go with it.
        limit: as `too_long` has it.
    """
    said = []
    if missed := misses(question, Path.cwd()):
        said.append(f"{', '.join(missed)} {'names' if len(missed) == 1 else 'name'} no file: sent as words.")
    if long := too_long(files, limit):
        said.append(f"{', '.join(map(told, files))}: {long}")
    return " ".join(said)
