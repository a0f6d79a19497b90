"""What a chat in lines says: whole lines and words in their order, no cursor, no colour."""

from __future__ import annotations

from typing import TextIO

from app.display import neutralise


class Voice:
    """Answers and what was asked for go to one stream, the program's own words to the other.

    Both may be one terminal, so what the program says while a line of an answer is open waits for its end.
    """

    def __init__(self, out: TextIO, err: TextIO) -> None:
        """Args:
        out: for answers and what commands give.
        err: for the rest.
        """
        self.out = out
        self._err = err
        self._open = False  # words were written that belong together
        self._ended = True  # the last of them ended its line
        self._waiting: list[str] = []

    def say(self, sentence: str) -> None:
        """Say what goes on, as a line of its own."""
        if self._open:
            self._waiting.append(sentence)
        elif sentence:
            self._err.write(f"{neutralise(sentence)}\n")
            self._err.flush()

    def tell(self, text: str) -> None:
        """Give what was asked for, as lines of their own."""
        if text:
            self.write(text)
            self.end_line()

    def write(self, text: str) -> None:
        """Go on in the line that is open, or open one."""
        if text:
            self.out.write(neutralise(text))
            self.out.flush()
            self._open = True
            self._ended = text.endswith("\n")

    def end_line(self) -> None:
        """No more comes in this line; what waited for that is said."""
        if self._open and not self._ended:
            self.out.write("\n")
            self.out.flush()
        self._open = False
        waiting, self._waiting = self._waiting, []
        for sentence in waiting:
            self.say(sentence)
