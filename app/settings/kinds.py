"""The kinds of value that an option takes: each reads a text or a value of the config file, or refuses it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.errors import did_you_mean
from models.locations import expanded


@dataclass(frozen=True)
class Kind:
    """What values an option takes.

    Attributes:
        metavar: the word for a value in the help text.
        from_text: reads the text of a flag or of an environment variable.
        from_toml: reads a value of the config file. Both raise ValueError with a phrase such as
            "expected a number, not 'hot'".
        repeatable: the flag may be given several times; the value is then a tuple of all.
        switch: the flag takes no value; `--no-NAME` switches off.
    """

    metavar: str
    from_text: Callable[[str], Any]
    from_toml: Callable[[Any], Any]
    repeatable: bool = False
    switch: bool = False


def _refuse(expected: str, got: object) -> ValueError:
    shown = repr(got)
    return ValueError(f"expected {expected}, not {shown if len(shown) <= 60 else shown[:57] + '...'}")


def _typed(kind: type | tuple[type, ...], expected: str, got: object) -> Any:
    # TOML's true is Python's True, which passes for the number 1.
    if not isinstance(got, kind) or isinstance(got, bool):
        raise _refuse(expected, got)
    return got


def _text(got: object) -> str:
    value: str = _typed(str, "a text", got)
    if any("\ud800" <= char <= "\udfff" for char in value):
        raise ValueError("expected text in UTF-8")
    return value


def text(metavar: str) -> Kind:
    """Any text, also none."""
    return Kind(metavar, _text, _text)


def name(metavar: str) -> Kind:
    """Text that names something."""

    def read(got: object) -> str:
        if not (value := _text(got)).strip():
            raise _refuse("a name", got)
        return value

    return Kind(metavar, read, read)


def texts(metavar: str) -> Kind:
    """Some texts: a flag given several times, a list in the config file, one text in the environment."""

    def from_toml(got: object) -> tuple[str, ...]:
        values = got if isinstance(got, list) else [got]
        return tuple(_text(value) for value in values)

    return Kind(metavar, from_toml, from_toml, repeatable=True)


def path(metavar: str) -> Kind:
    """A file; `~` is the home folder."""

    def read(got: object) -> Path:
        if not (value := _text(got)):
            raise _refuse("a file name", got)
        return expanded(value)

    return Kind(metavar, read, read)


def number(metavar: str) -> Kind:
    """A number, with or without a fraction."""

    def from_text(got: str) -> float:
        try:
            return float(got)
        except ValueError:
            raise _refuse("a number", got) from None

    return Kind(metavar, from_text, lambda got: float(_typed((int, float), "a number", got)))


def whole(metavar: str) -> Kind:
    """A whole number."""

    def from_text(got: str) -> int:
        try:
            return int(got)
        except ValueError:
            raise _refuse("a whole number", got) from None

    return Kind(metavar, from_text, lambda got: _typed(int, "a whole number", got))


def switch() -> Kind:
    """On or off: a flag without a value, a truth value in the config file, a word in the environment."""
    words = {
        "1": True,
        "true": True,
        "yes": True,
        "on": True,
        "0": False,
        "false": False,
        "no": False,
        "off": False,
    }

    def from_text(got: str) -> bool:
        if got.lower() not in words:
            raise _refuse("true or false", got)
        return words[got.lower()]

    def from_toml(got: object) -> bool:
        if not isinstance(got, bool):
            raise _refuse("true or false", got)
        return got

    return Kind("", from_text, from_toml, switch=True)


def biases() -> Kind:
    """Token ids with a bias each: a flag given several times, a list of texts in the config file."""

    def read(got: object) -> tuple[tuple[int, float], ...]:
        return tuple(_bias(value) for value in (got if isinstance(got, list) else [got]))

    return Kind("ID=BIAS", read, read, repeatable=True)


def _bias(got: object) -> tuple[int, float]:
    token, _, bias = _text(got).partition("=")
    try:
        return int(token), float(bias)
    except ValueError:
        raise _refuse("a token id and a bias, such as 42=-5", got) from None


def auto_or_whole() -> Kind:
    """The word "auto", or a whole number."""

    def from_text(got: str) -> int | str:
        try:
            return got if got == "auto" else int(got)
        except ValueError:
            raise _refuse("auto or a whole number", got) from None

    def from_toml(got: object) -> int | str:
        return "auto" if got == "auto" else _typed(int, '"auto" or a whole number', got)

    return Kind("auto|N", from_text, from_toml)


def choice(*words: str, prefix: str | None = None) -> Kind:
    """One of `words`, or anything that starts with `prefix` and goes on, such as "model:REF"."""
    shown = [*words, *([f"{prefix}REF"] if prefix else [])]

    def read(got: object) -> str:
        value = _text(got)
        if value in words or (prefix and value.startswith(prefix) and value != prefix):
            return value
        expected = f"{', '.join(shown[:-1])} or {shown[-1]}"
        near = did_you_mean(value, list(words))
        raise ValueError(f"{_refuse(expected, got)}{'. ' + near if near else ''}")

    return Kind("|".join(shown), read, read)
