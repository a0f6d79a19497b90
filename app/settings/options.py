"""An option: one value that the command line, the environment and the config file can all set.

The table of options is the dataclass in `app.settings.settings`. Each field there carries an `Option`, and
the flags, the SPECCHAT_* variables, the config keys and their checks are all read from it.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from app.settings.kinds import Kind


@dataclass(frozen=True)
class Option:
    """One row of the table.

    Attributes:
        kind: what values it takes.
        help: one line.
        home: the mlx_spec dataclass and its attribute that this option sets, if it has one; the
            default is read from there, and the value is checked there.
        name: as in the config file; the flag and the variable are made from it.
    """

    kind: Kind
    help: str
    home: tuple[type, str] | None = None
    name: str = ""

    @property
    def attribute(self) -> str:
        return self.name.replace("-", "_")

    @property
    def flag(self) -> str:
        return f"--{self.name}"

    @property
    def variable(self) -> str:
        return f"SPECCHAT_{self.attribute.upper()}"

    def check(self, value: Any) -> None:
        """Raise ValueError if the dataclass that takes `value` refuses it."""
        if self.home:
            owner, attribute = self.home
            owner(**{attribute: value})


def option(kind: Kind, help: str, *, home: tuple[type, str] | None = None, default: Any = None) -> Any:
    """A dataclass field that is an option; its name becomes the option's."""
    if home:
        default = {row.name: row.default for row in dataclasses.fields(home[0])}[home[1]]
    return field(default=default, metadata={"option": Option(kind, help, home)})


def options_of(table: type) -> tuple[Option, ...]:
    """The options among the fields of a dataclass, in order."""
    return tuple(
        dataclasses.replace(row.metadata["option"], name=row.name.replace("_", "-"))
        for row in dataclasses.fields(table)
        if "option" in row.metadata
    )
