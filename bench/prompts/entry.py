"""One prompt, and the check of an entry that is to become one."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from mlx_spec.options import Sampling

LONGEST = 400_000  # characters of one prompt with all its turns
MOST_TURNS = 400
MOST_TOKENS = 1 << 20  # that a prompt may ask for

Role = Literal["system", "user", "assistant"]

_SURROGATE = re.compile("[\ud800-\udfff]")  # half a character: JSON can hold it, UTF-8 cannot


@dataclass(frozen=True)
class Prompt:
    """One prompt.

    Attributes:
        id: unique in its set.
        group: its class.
        turns: (role, text) of each message, the last of a user.
        sampling: options of `Sampling` by name that replace the run's own.
        max_tokens: of the answer, at most; None leaves it to the run.
        licence: of the text; None if it is not stated.
        quick: whether it belongs to the quick subset.
    """

    id: str
    group: str
    turns: tuple[tuple[Role, str], ...]
    sampling: Mapping[str, Any] = field(default_factory=dict)
    max_tokens: int | None = None
    licence: str | None = None
    quick: bool = False

    @property
    def messages(self) -> list[dict[str, str]]:
        """The turns as a chat template takes them."""
        return [{"role": role, "content": text} for role, text in self.turns]

    @property
    def title(self) -> str:
        """What was asked last, for a table."""
        return self.turns[-1][1]

    def sampling_over(self, base: Sampling) -> Sampling:
        """The run's sampling with what this prompt wants otherwise."""
        return dataclasses.replace(base, **self.sampling)


def of_entry(entry: Any, number: str) -> Prompt:
    """The prompt of an entry as the head of this package describes it.

    Args:
        entry: a mapping.
        number: the id, if it has none.

    Raises:
        ValueError: with the rest of a sentence that begins with "entry 3".
    """
    if not isinstance(entry, Mapping):
        raise ValueError("is no object with a prompt")
    ident = entry.get("id", number)
    if isinstance(ident, bool) or not isinstance(ident, str | int) or not str(ident).strip():
        raise ValueError("has an id that is neither a text nor a whole number")
    tokens = entry.get("max_tokens")
    if tokens is not None and (type(tokens) is not int or not 1 <= tokens <= MOST_TOKENS):
        raise ValueError(f"has a max_tokens that is no whole number from 1 to {MOST_TOKENS}")
    if not isinstance(quick := entry.get("quick", False), bool):
        raise ValueError('has a "quick" that is neither true nor false')
    licence = entry.get("licence")
    return Prompt(
        id=_name(str(ident), "id"),
        group=_name(entry.get("class", "own"), "class"),
        turns=_turns(entry),
        sampling=_sampling(entry.get("sampling", {})),
        max_tokens=tokens,
        licence=None if licence is None else _clean(licence, "licence"),
        quick=quick,
    )


def _turns(entry: Mapping[str, Any]) -> tuple[tuple[Role, str], ...]:
    if ("prompt" in entry) == ("turns" in entry):
        raise ValueError('needs either a text "prompt" or a list "turns"')
    if "prompt" in entry:
        return (("user", _content(entry["prompt"])),)
    raw = entry["turns"]
    if not isinstance(raw, Sequence) or isinstance(raw, str) or not 1 <= len(raw) <= MOST_TURNS:
        raise ValueError(f'has "turns" that are no list of 1 to {MOST_TURNS} messages')
    turns: list[tuple[Role, str]] = []
    for message in raw:
        if not isinstance(message, Mapping) or message.get("role") not in ("system", "user", "assistant"):
            raise ValueError("has a turn without a role: system, user or assistant")
        turns.append((message["role"], _content(message.get("content"))))
    spoken = [role for role, _ in turns[turns[0][0] == "system" :]]
    if spoken != ["user", "assistant"] * (len(spoken) // 2) + ["user"]:
        raise ValueError("has turns out of order: user and assistant take turns, and a user is the last")
    if sum(len(text) for _, text in turns) > LONGEST:
        raise ValueError(f"is longer than {LONGEST} characters")
    return tuple(turns)


def _content(text: Any) -> str:
    """The text of a message, without the line end that a TOML block may leave."""
    content = _clean(text, "prompt").strip("\n")
    if len(content) > LONGEST:
        raise ValueError(f"is longer than {LONGEST} characters")
    return content


def _clean(text: Any, what: str) -> str:
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f'has no text as its "{what}"')
    if _SURROGATE.search(text):
        raise ValueError(f'has half a character in its "{what}"')
    return text


def _name(text: Any, what: str) -> str:
    """What tables and files show: a line that moves no cursor and ends no row."""
    name = _clean(text, what)
    if not name.isprintable():
        raise ValueError(f'needs one line of printable characters as its "{what}"')
    return name


def _sampling(options: Any) -> Mapping[str, Any]:
    if not isinstance(options, Mapping):
        raise ValueError('has a "sampling" that is no table of options')
    known = {row.name for row in dataclasses.fields(Sampling)}
    if strangers := sorted(set(options) - known):
        raise ValueError(f"has the unknown sampling option {strangers[0]!r}")
    try:
        Sampling(**options)
    except (ValueError, TypeError) as error:
        raise ValueError(f"has sampling that cannot be used: {str(error).rstrip('.')}") from None
    return dict(options)
