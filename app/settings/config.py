"""Where settings come from: the command line, then the environment, then the config file, then defaults."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from app.errors import UsageError, did_you_mean
from app.settings.options import Option
from app.settings.settings import OPTIONS, Settings
from models import locations

Given = Sequence[tuple[Option, str]]
"""The options of a command line in its order, each with the text of its value."""

_PREFIX = "SPECCHAT_"
_LARGEST = 32 << 10  # bytes of the config file
_NOT_OPTIONS = {"SPECCHAT_HOME", "SPECCHAT_DEBUG"}


def read(given: Given, environ: Mapping[str, str] | None = None, file: Path | None = None) -> Settings:
    """Settings from all sources; a nearer source replaces a farther one's value, also of a list.

    Args:
        given: what the command line says.
        environ: the environment; None takes the process's own.
        file: the config file, which need not exist; None takes the usual one.

    Raises:
        UsageError: a value, a key or the file is wrong; it says where.
    """
    environ = os.environ if environ is None else environ
    values = _from_file(locations.config_file() if file is None else file)
    values |= _from_environment(environ)
    values |= _from_flags(given)
    return Settings(**values, warnings=_strangers(environ))


def unused(settings: Settings, command: str, *attributes: str) -> list[str]:
    """A sentence about those of these settings that were set, although `command` makes no use of them."""
    defaults = Settings()
    flags = [
        option.flag
        for option in OPTIONS
        if option.attribute in attributes
        and getattr(settings, option.attribute) != getattr(defaults, option.attribute)
    ]
    return [f"{command} makes no use of {' and '.join(flags)}."] if flags else []


def _from_flags(given: Given) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for option, text in given:
        value = _checked(option, option.kind.from_text, text, option.flag)
        if option.kind.repeatable:
            value = values.get(option.attribute, ()) + value
        values[option.attribute] = value
    return values


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    # A variable that is set but empty counts as unset, as is the custom.
    return {
        option.attribute: _checked(option, option.kind.from_text, text, option.variable)
        for option in OPTIONS
        if (text := environ.get(option.variable))
    }


def _from_file(file: Path) -> dict[str, Any]:
    try:
        # Before it is opened: a pipe would wait for a writer, a device has no end.
        if file.exists() and not (file.is_file() and file.stat().st_size <= _LARGEST):
            raise UsageError(
                f"The config file {file} cannot be read: it is no file of at most {_LARGEST >> 10} kB.",
                "Move it away.",
            )
        table = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise UsageError(
            f"The config file {file} cannot be read: {error.strerror}.", "Move it away or make it readable."
        ) from None
    except UnicodeDecodeError:
        raise UsageError(f"The config file {file} is not UTF-8.", "Save it as UTF-8.") from None
    except tomllib.TOMLDecodeError as error:  # its words end with "(at line 3, column 8)"
        raise UsageError(f"The config file {file} is no valid TOML: {error}.", "Correct that line.") from None
    except (ValueError, RecursionError):  # a number of thousands of digits, lists in lists in lists
        raise UsageError(
            f"The config file {file} has a value beyond all bounds.", "Correct or remove it."
        ) from None

    known = {option.name: option for option in OPTIONS}
    values = {}
    for key, value in table.items():
        if key not in known:
            raise UsageError(
                f"The config file {file} has an unknown key, {key}.",
                did_you_mean(key, list(known)) or f"Known keys: {', '.join(known)}.",
            )
        option = known[key]
        values[option.attribute] = _checked(option, option.kind.from_toml, value, f"{key} in {file}")
    return values


def typed(texts: Mapping[str, str]) -> dict[str, Any]:
    """The values of options as a person typed them somewhere else than on the command line.

    Args:
        texts: by the names of the settings' attributes.

    Raises:
        UsageError: one of them is none of its option's values.
    """
    known = {option.attribute: option for option in OPTIONS}
    return {
        name: _checked(known[name], known[name].kind.from_text, text, known[name].name)
        for name, text in texts.items()
    }


def _checked(option: Option, convert: Callable[[Any], Any], raw: Any, where: str) -> Any:
    try:
        value = convert(raw)
        option.check(value)
    except ValueError as error:
        end = "" if str(error).endswith("?") else "."
        raise UsageError(f"{where}: {error}{end}", f"See specchat --help for {option.flag}.") from None
    return value


def _strangers(environ: Mapping[str, str]) -> tuple[str, ...]:
    known = {option.variable for option in OPTIONS} | _NOT_OPTIONS
    return tuple(
        f"The environment variable {name} sets nothing. {did_you_mean(name, sorted(known))}".strip()
        for name in sorted(environ)
        if name.startswith(_PREFIX) and name not in known
    )
