"""Answers of engines over tiny models, and every kind of draft source for them."""

from __future__ import annotations

from typing import Any

from readable import PROMPT, READABLE
from recorded import Recorded
from tiny import tiny_loaded

from mlx_spec import Engine, EngineOptions, Limits, Sampling, drafts
from mlx_spec.drafts.base import DraftSource
from mlx_spec.events import Round


def run(
    engine: Engine, prompt: list[int] = PROMPT, sampling: Sampling = Sampling(), **limits: Any
) -> list[Round]:
    """The rounds of one answer."""
    return list(engine.generate(prompt, sampling, Limits(**limits)))


def tokens(events: list[Round]) -> list[int]:
    """The released tokens."""
    return [token for event in events for token in event.tokens]


def answer(engine: Engine, prompt: list[int] = PROMPT, **limits: Any) -> list[int]:
    """The tokens of one greedy answer."""
    return tokens(run(engine, prompt, **limits))


def fresh_answer(target: Any, prompt: list[int], **limits: Any) -> list[int]:
    """What an engine that has seen nothing, and drafts nothing, answers."""
    return answer(Engine(target, None), prompt, **limits)


def bad_model(target: Any, **options: Any) -> DraftSource:
    """A draft model that is nearly always wrong."""
    draft = tiny_loaded("llama", vocab=READABLE, layers=1, seed=9, head_dim=32)
    return drafts.model_source(target, draft, EngineOptions(**options))


def sources(target: Any, reference: list[int]) -> dict[str, Any]:
    """Draft sources by name, for an answer `reference` to `PROMPT`."""
    text = PROMPT + reference
    return {
        "none": None,
        "lookup": "lookup",
        "self": "self",
        "bad model": bad_model(target),
        "recorded": Recorded(text),
        "recorded with errors": Recorded(text, wrong=set(range(0, len(text), 3))),
    }
