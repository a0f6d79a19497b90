"""The files that go with the next question: attached by a command, or named in it as @path."""

from __future__ import annotations

from pathlib import Path

from app.errors import UsageError
from app.files.mentions import mentions
from app.files.names import path_of
from app.files.reading import read, size
from app.files.records import Attachment


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
