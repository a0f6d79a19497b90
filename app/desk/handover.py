"""`/bench`: the command that measures the present pair in a process of its own, and what to say of it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from app.settings.options import Option
from app.settings.settings import OPTIONS, Settings
from mlx_spec.options import EngineOptions, Sampling

_PAIR = ("model", "draft", "dtype", "system")
_CHOSEN = ("k", "paranoid", "details")  # the sweep's own, or slow
_GB = 1e9


@dataclass(frozen=True)
class Handover:
    """A process to run instead of the engine.

    Attributes:
        argv: of the process.
        command: the same as a person would type it.
        sentence: what happens, and how much memory it takes.
    """

    argv: tuple[str, ...]
    command: str
    sentence: str


def bench(settings: Settings, held: int | None = None) -> Handover:
    """The benchmark of the pair that `settings` name.

    The engine must let its model go before the process starts, and may load it again after: two of
    them would need the memory twice, and slow each other down.

    Args:
        settings: of the chat, also where they came from a file or the environment: that process gets
            them as flags.
        held: bytes that the engine holds, if that is known.
    """
    memory = f" ({held / _GB:.1f} GB)" if held else ""
    sentence = (
        f"The model{memory} is let go first, and loaded again at the end; the chat stays. The benchmark "
        "loads it in a process of its own and takes less than two minutes. Ctrl+C ends it."
    )
    words = ("bench", "--quick")
    return Handover(
        argv=(sys.executable, "-m", "app", *words, *_flags(settings)),
        command=shlex.join(["specchat", *words, *_flags(settings, over=Settings())]),
        sentence=sentence,
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
