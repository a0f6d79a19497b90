"""Everything that a person can set, as one frozen object; it is also the table of options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.settings import kinds
from app.settings.options import option, options_of
from mlx_spec.options import EngineOptions, Limits, Sampling

SOURCES = ("auto", "none", "lookup", "self")  # and model:REF
THEMES = ("dark", "light", "contrast", "terminal")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """One row an option: its name, type, values, default and help.

    Attributes:
        warnings: sentences about where these settings came from that the person must see.
    """

    model: str = option(
        kinds.name("REF"),
        "target: builtin, a folder, a .gguf file, or org/name[@revision]",
        default="builtin",
    )
    draft: str = option(
        kinds.choice(*SOURCES, prefix="model:"),
        "draft source; auto is lookup",
        default="auto",
    )
    k: int | str = option(kinds.auto_or_whole(), "draft tokens a round", home=(EngineOptions, "k"))
    dtype: str | None = option(
        kinds.choice("float32", "float16", "bfloat16"), "convert the weights (unset: as they are stored)"
    )
    kv_bits: int | None = option(
        kinds.whole("BITS"), "quantize the KV cache (unset: full precision)", home=(EngineOptions, "kv_bits")
    )
    context: int | None = option(
        kinds.whole("TOKENS"),
        "context to use at most (unset: the model's own)",
        home=(EngineOptions, "context"),
    )
    context_full: str = option(
        kinds.choice("stop", "drop"),
        "when the context is full: stop and say so, or drop the oldest turns from what the model reads",
        default="stop",
    )
    max_tokens: int = option(
        kinds.whole("N"), "length of an answer at most; -1 for no limit", home=(Limits, "max_tokens")
    )
    temp: float = option(kinds.number("T"), "temperature; 0 is greedy", home=(Sampling, "temperature"))
    top_p: float = option(
        kinds.number("P"), "keep the likeliest tokens of this mass", home=(Sampling, "top_p")
    )
    top_k: int = option(kinds.whole("N"), "keep this many tokens; 0 keeps all", home=(Sampling, "top_k"))
    min_p: float = option(
        kinds.number("P"), "drop tokens below this share of the likeliest", home=(Sampling, "min_p")
    )
    xtc_probability: float = option(
        kinds.number("P"), "how often to drop the likeliest tokens (XTC)", home=(Sampling, "xtc_probability")
    )
    xtc_threshold: float = option(
        kinds.number("P"), "the probability above which XTC drops", home=(Sampling, "xtc_threshold")
    )
    repetition_penalty: float = option(
        kinds.number("X"),
        "weaken recent tokens by this factor; 1 is off",
        home=(Sampling, "repetition_penalty"),
    )
    presence_penalty: float = option(
        kinds.number("X"), "subtract from the logits of recent tokens", home=(Sampling, "presence_penalty")
    )
    frequency_penalty: float = option(
        kinds.number("X"), "subtract once for each recent occurrence", home=(Sampling, "frequency_penalty")
    )
    penalty_context: int = option(
        kinds.whole("TOKENS"), "how many tokens are recent", home=(Sampling, "penalty_context")
    )
    logit_bias: tuple[tuple[int, float], ...] = option(
        kinds.biases(), "add BIAS to a token's logit; -inf forbids it", home=(Sampling, "logit_bias")
    )
    min_tokens: int = option(
        kinds.whole("N"), "no end of the answer before this many", home=(Sampling, "min_tokens")
    )
    seed: int | None = option(
        kinds.whole("N"), "seed of the sampling (unset: a fresh one each time)", home=(Sampling, "seed")
    )
    seed_exact: bool = option(
        kinds.switch(),
        "the tokens of plain decoding with that seed, whatever drafts",
        home=(Sampling, "seed_exact"),
    )
    exactness: str = option(
        kinds.choice("fast", "strict"),
        "strict: greedy near-ties are decided as plain decoding would",
        home=(EngineOptions, "exactness"),
    )
    paranoid: bool = option(
        kinds.switch(),
        "compare the caches with a fresh reading after every round (slow: to find bugs)",
        home=(EngineOptions, "paranoid"),
    )
    details: bool = option(
        kinds.switch(),
        "with --jsonl or --trace: each round's drafts with their probabilities; the chat has them always",
        home=(EngineOptions, "details"),
    )
    stop: tuple[str, ...] = option(
        kinds.texts("TEXT"), "text that ends the answer and is not shown", home=(Limits, "stop")
    )
    system: str | None = option(kinds.text("TEXT"), "system prompt (unset: the model's own)")
    cache: Path | None = option(  # noqa: RUF009  a field
        kinds.path("FILE"),
        "keep what the model has read in FILE for the next run; ask puts piped text first then",
    )
    trace: Path | None = option(  # noqa: RUF009  a field
        kinds.path("FILE"), "append one JSON line a round to FILE"
    )

    theme: str | None = option(
        kinds.choice(*THEMES),
        "colours of the terminal UI; terminal: its own (unset: what /theme chose last, or dark)",
    )
    notify: bool = option(
        kinds.switch(),
        "tell the terminal when a long answer ends while you look elsewhere",
        default=True,
    )

    warnings: tuple[str, ...] = ()

    @property
    def sampling(self) -> Sampling:
        return Sampling(**self._of(Sampling))

    @property
    def limits(self) -> Limits:
        return Limits(**self._of(Limits))

    @property
    def engine(self) -> EngineOptions:
        return EngineOptions(**self._of(EngineOptions))

    def _of(self, owner: type) -> dict[str, Any]:
        homes = ((row.home, row.attribute) for row in OPTIONS)
        return {home[1]: getattr(self, attribute) for home, attribute in homes if home and home[0] is owner}


OPTIONS = options_of(Settings)
