"""`/bench`: the command that measures the present pair in a process of its own, and what to say of it."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from app.settings.options import Option
from app.settings.settings import OPTIONS, Settings
from mlx_spec.options import EngineOptions, Sampling
from models.amount import in_bytes

_PAIR = ("model", "draft", "dtype", "system")
_CHOSEN = ("k", "paranoid", "details")  # the sweep's own, or slow
_SYSTEM = next(row for row in OPTIONS if row.attribute == "system")
# Of this specchat, wherever it is: `-m app` would take an `app` of the person's folder.
_START = (
    f"import sys; sys.path.insert(0, {str(Path(__file__).resolve().parents[2])!r}); "
    "from app.cli import main; sys.exit(main())"
)


@dataclass(frozen=True)
class Handover:
    """A process to run instead of the engine.

    Attributes:
        argv: of the process.
        command: the same as a person would type it.
        sentence: what happens, and how much memory it takes.
        environ: variables that it gets besides this process's own.
    """

    argv: tuple[str, ...]
    command: str
    sentence: str
    environ: Mapping[str, str] = field(default_factory=dict)

    def run(self) -> str:
        """Wait for the process; returns a sentence about how it ended."""
        try:
            code = subprocess.call(self.argv, env={**os.environ, **self.environ})
        except OSError as error:
            return f"It could not be started: {error.strerror or error}."
        return "It is done." if code == 0 else f"It ended with code {code}."


def bench(settings: Settings, nbytes: int = 0) -> Handover:
    """The benchmark of the pair that `settings` name.

    The engine must let its model go before the process starts, and may load it again after: two of
    them would need the memory twice, and slow each other down.

    Args:
        settings: of the chat, also where they came from a file or the environment: that process gets
            them as flags.
        nbytes: of the model's weights; 0 where that is not known.
    """
    memory = f" ({in_bytes(nbytes)} of weights)" if nbytes else ""
    sentence = (
        f"The model{memory} is let go first, and loaded again at the end; the chat stays. The benchmark "
        "loads it in a process of its own and takes less than two minutes. Ctrl+C ends it."
    )
    words = ("bench", "--quick")
    # Every user of a machine can read the arguments of its processes. An empty variable would set nothing.
    system = settings.system
    arguments = _flags(replace(settings, system=None) if system else settings)
    return Handover(
        argv=(sys.executable, "-P", "-c", _START, *words, *arguments),
        command=shlex.join(["specchat", *words, *_flags(settings, over=Settings())]),
        sentence=sentence,
        environ={_SYSTEM.variable: system} if system else {},
    )


def _flags(settings: Settings, over: Settings | None = None) -> Iterator[str]:
    """The pair always, everything else where it is not as in `over`.

    A value that is None has no flag; it is what an option is where nothing sets it.
    """
    for row in OPTIONS:
        value = getattr(settings, row.attribute)
        if row.attribute == "draft" and value == "none":
            value = "auto"  # there is nothing to sweep without a source
        told = row.attribute in ("model", "draft") or over is None or value != getattr(over, row.attribute)
        if not _benched(row) or value is None or not told:
            continue
        if row.kind.switch:
            yield row.flag if value else f"--no-{row.name}"
        elif row.attribute == "logit_bias":
            yield from (f"{row.flag}={token}={bias}" for token, bias in value)
        else:
            yield f"{row.flag}={value}"


def _benched(row: Option) -> bool:
    """Whether it is of the pair, of how it decodes or of how it samples, and not of a chat."""
    owner = row.home[0] if row.home else None
    return row.attribute in _PAIR or (owner in (EngineOptions, Sampling) and row.attribute not in _CHOSEN)
