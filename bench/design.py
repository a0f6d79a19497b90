"""What a sweep compares, on what, in which order: everything that is decided before the first run."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from mlx_spec.errors import SpecError
from mlx_spec.options import Sampling

PLAIN, LOOP = "plain", "loop"
_IN_WORDS = {
    "ways": "draft sources or K",
    "prompt_hash": "texts of prompts, sampling, or lengths of answers",
    "cold": "reading of prompts (--quick)",
    "engine": "options of the engine",
}


class WrongDesign(SpecError):
    """What was asked for cannot be measured, or does not go on with what was."""


@dataclass(frozen=True)
class Way:
    """A way of decoding, by its name.

    Attributes:
        name: in tables and files.
        source: what drafts; None for plain decoding.
        k: draft tokens a round: a number or "auto"; None where there is no such choice.
        engine: whose loop it is.
    """

    name: str
    source: str | None = None
    k: int | str | None = 0
    engine: str = "specchat"


@dataclass(frozen=True)
class Task:
    """A prompt as the target reads it.

    Attributes:
        prompt: its id.
        group: its class.
        tokens: ids, with the chat template.
        sampling: how it is answered; with a seed, so that it can be answered again.
        max_tokens: of the answer.
    """

    prompt: str
    group: str
    tokens: list[int] = field(repr=False)
    sampling: Sampling = Sampling(seed=0)
    max_tokens: int = 64

    @property
    def repeatable(self) -> bool:
        """Whether every way must give the same tokens: a sampled answer need only have the same law."""
        return self.sampling.greedy or self.sampling.seed_exact


@dataclass(frozen=True)
class Turn:
    """One run of the schedule."""

    block: int
    place: int
    way: str
    task: int


@dataclass(frozen=True)
class Design:
    """What decides a sweep. Two sweeps of one design may be joined.

    Attributes:
        bench: "sweep" or "peers".
        model, draft: what was loaded: name, revision, dtype and the like; draft may be None.
        ways: all that are compared; the first one is the baseline.
        prompts: id, class, and whether every way must give the same tokens, of each.
        prompt_hash: of all that their answers depend on.
        repeats: blocks of each prompt.
        tokens: of an answer at most, where its prompt does not ask for fewer.
        seed: of the order, and of prompts that are sampled.
        cold: every run reads its prompt anew; otherwise the first of a block does for all.
        engine: what was chosen for every engine, such as the bits of a quantized KV cache.
    """

    bench: str
    model: dict[str, Any]
    draft: dict[str, Any] | None
    ways: list[Way]
    prompts: list[tuple[str, str, bool]]
    prompt_hash: str
    repeats: int
    tokens: int
    seed: int
    cold: bool
    engine: dict[str, Any] = field(default_factory=dict)

    @property
    def baseline(self) -> Way:
        return self.ways[0]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Design:
        """Read what `as_json` wrote.

        Raises:
            KeyError, TypeError: an entry is missing or unknown.
        """
        lists = {
            "ways": [Way(**way) for way in data["ways"]],
            "prompts": [tuple(prompt) for prompt in data["prompts"]],
        }
        return cls(**{**data, **lists})

    def difference(self, other: Design) -> str | None:
        """What this one has otherwise than `other`, in words; None if they are one design."""
        ours, theirs = self.as_json(), other.as_json()
        for name, value in ours.items():
            if value != theirs[name]:
                if name in _IN_WORDS:
                    return f"other {_IN_WORDS[name]}"
                short = all(len(str(each)) < 40 for each in (value, theirs[name]))
                return f"{name} {value} and not {theirs[name]}" if short else f"other {name}"
        return None

    def blocks(self) -> list[list[Turn]]:
        """Randomized complete blocks: each answers one prompt in every way, the baseline first and last.

        Prompts come in random order, once each before any comes again. The order depends on the seed alone.
        """
        order = random.Random(self.seed)
        others = [way.name for way in self.ways[1:]]
        tasks = [
            task
            for _ in range(self.repeats)
            for task in order.sample(range(len(self.prompts)), len(self.prompts))
        ]
        blocks = []
        for block, task in enumerate(tasks):
            names = [self.baseline.name, *order.sample(others, len(others)), self.baseline.name]
            blocks.append([Turn(block, place, name, task) for place, name in enumerate(names)])
        return blocks


def sweep_ways(sources: Sequence[str], ks: Sequence[int]) -> list[Way]:
    """Plain decoding, the speculative loop without drafts, and every source at every K and at auto."""
    ways = [Way(PLAIN), Way(LOOP, None, None)]
    for source in sources:
        ways += [Way(f"{source} K={k}", source, k) for k in ks]
        ways.append(Way(f"{source} auto", source, "auto"))
    return ways
