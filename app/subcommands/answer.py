"""An answer as it comes in: its text and tokens, the JSON object and the summary made of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from app.display import shown
from app.thinking import Split, Thinking, spoken
from mlx_spec.events import Round


@dataclass
class Answer:
    """What the rounds so far add up to.

    Attributes:
        thinking: tells the thought from the answer.
        text: the answer without its thought, which is `thought`.
        tokens, origins: of both.
        finish_reason: None while it runs.
    """

    thinking: Thinking = field(default_factory=Thinking)
    text: str = ""
    thought: str = ""
    tokens: list[int] = field(default_factory=list)
    origins: list[str] = field(default_factory=list)
    finish_reason: str | None = None

    def add(self, news: Round) -> Split:
        """Take a round in; returns what of it may be shown."""
        split = self.thinking.take(news)
        self.text += split.text
        self.thought += split.thought_text
        self.tokens += news.tokens
        self.origins += news.origins
        self.finish_reason = news.finish_reason
        return split

    @property
    def draft_share(self) -> float | None:
        """The share of the answer's tokens that were drafted and accepted; None without tokens."""
        drafted = sum(origin.startswith("draft:") for origin in self.origins)
        return drafted / len(self.origins) if self.origins else None


def as_object(answer: Answer, assistant: Any, warnings: list[str]) -> dict[str, Any]:
    """The object of `ask --json`. What is not known is null."""
    return {
        **spoken(answer.text, answer.thought),
        "finish_reason": answer.finish_reason,
        "tokens": answer.tokens,
        "origins": answer.origins,
        **facts(assistant.metrics, assistant.model, assistant.draft),
        "warnings": warnings,
    }


def facts(metrics: Any, model: str, draft: str) -> dict[str, Any]:
    """What is known of how an answer came about, as every JSON of specchat has it. What is not known is null.

    Args:
        metrics: of the engine: mlx_spec.metrics.Metrics.
        model, draft: the target and the draft source as options name them.
    """
    return {
        "prompt_tokens": metrics.prompt_tokens,
        "reused_tokens": metrics.reused_tokens,
        "prefilled_tokens": metrics.prefilled_tokens,
        "completion_tokens": metrics.completion_tokens,
        "ttft_s": metrics.ttft_s,
        "tok_s": metrics.tok_s,
        "model": model,
        "draft": draft,
        "seed": metrics.seed,
        "speculation": metrics.speculation(),
        "exactness": metrics.exactness(),
        "memory": metrics.memory(),
    }


def as_event(news: Round, split: Split) -> dict[str, Any]:
    """The object of one line of `ask --jsonl`; unlike the last line's, it has the key "event"."""
    return {"event": "round", "text": split.text, "thinking": split.thought_text, **asdict(news)}


def dump(value: dict[str, Any]) -> str:
    """One line of JSON in ASCII: exact, whatever the terminal's encoding, and without control characters."""
    return json.dumps(value, allow_nan=False).replace("\x7f", "\\u007f") + "\n"


def summary(answer: Answer, assistant: Any) -> Iterator[str]:
    """The lines of `ask --stats`."""
    metrics = assistant.metrics
    speculation = metrics.speculation()
    yield f"{assistant.model}, draft {assistant.draft}, finished by {answer.finish_reason}"
    yield (
        f"{metrics.completion_tokens} tokens at {shown(metrics.tok_s, '{:.1f}')} tok/s, "
        f"first after {shown(metrics.ttft_s, '{:.2f}')} s; "
        f"prompt {metrics.prompt_tokens}, {metrics.reused_tokens} of them reused; "
        f"context {metrics.context_used} of {assistant.context_limit}"
    )
    if metrics.verdict:
        yield metrics.verdict.sentence
    if metrics.drafted:
        yield (
            f"K {metrics.k}, accepted {metrics.accepted} of {metrics.drafted} "
            f"(rate {shown(metrics.acceptance_rate, '{:.1%}')}), "
            f"acceptance length {shown(metrics.acceptance_length, '{:.2f}')}, "
            f"draft share {shown(answer.draft_share, '{:.1%}')}"
        )
    elif speculation["state"] == "speculating":
        yield f"K {metrics.k}, but nothing was drafted"
