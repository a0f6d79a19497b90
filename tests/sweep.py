"""What becomes of a model type under speculation: judged on a tiny random model of it.

Every judgement compares with one truth: the tokens and logits of one row at a time on mlx-lm's own
caches. Sources that are right always, sometimes and hardly ever, short and long drafts, a second turn.
"""

from __future__ import annotations

import copy
import importlib
import pkgutil
import re
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import mlx.core as mx
import mlx_lm.models
from families import FAMILIES
from fresh import assert_like_fresh
from mlx_lm.generate import generate_step
from mlx_lm.models.cache import CacheList, make_prompt_cache
from readable import READABLE, letters, without_ends
from recorded import Recorded
from tiny import tiny_loaded

from mlx_spec import Engine, Limits, drafts
from mlx_spec.caches.chunked import ChunkedCache
from mlx_spec.caches.window import WindowCache
from mlx_spec.options import EngineOptions
from mlx_spec.text import vocabulary

SPECULATES, STANDS_DOWN, NOT_BUILT, WRONG = "speculates exactly", "stands down", "not built", "WRONG"

PROMPT = letters("the cat and the dog ")  # shorter than the windows
LONGER = letters("the quick brown fox jumps over the lazy dog and runs away ")
LENGTH = 64
KS = (1, 3, 6)
# A text that repeats one token would hide errors: the first seed that gives this many tokens is taken.
DISTINCT = 12
# Rows computed at once, after this many single ones: from nothing, across a window, beyond it.
BLOCKS = ((0, 20), (12, 40), (22, 4), (29, 7), (45, 2), (62, 7), (70, 5))
NOISE = 1e-4  # of the largest logit: what rounding may do


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes:
        family: mlx-lm's model type.
        caches: kinds of the layers' caches, counted; empty if there is no model.
        rows: how far the logits of several rows are from those of single rows, in words.
        verdict: one of the four above.
        reason: why it does not speculate, or what is wrong.
    """

    family: str
    caches: str = ""
    rows: str = ""
    verdict: str = NOT_BUILT
    reason: str = ""


def model_types() -> list[str]:
    """mlx-lm's model types: its modules that define a model."""
    folder = Path(mlx_lm.models.__path__[0])
    names = [module.name for module in pkgutil.iter_modules([str(folder)])]
    return sorted(
        (name for name in names if re.search(r"^class Model\(", (folder / f"{name}.py").read_text(), re.M)),
        key=str.lower,
    )


def judge(family: str) -> Row:
    """Build a tiny model of `family` and try everything on it."""
    row = Row(family)
    if family not in FAMILIES:
        return replace(row, reason="no tiny configuration of it is known")
    try:
        importlib.import_module(f"mlx_lm.models.{family}")
        target, text = _lively(family)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever mlx-lm says is the reason
        return replace(row, reason=_sentence(error))
    row = replace(row, caches=_kinds(make_prompt_cache(target.model)))
    distance, same = _rows_distance(target, text)
    row = replace(row, rows=_in_words(distance) + ("" if same else ", another token"))
    try:
        with patch.object(WindowCache, "step", 16), patch.object(ChunkedCache, "step", 16):
            reason = _speculate(target, text)  # buffers small enough to be left several times
    except Exception as error:  # noqa: BLE001 - shown in the table, and the command fails
        return replace(row, verdict=WRONG, reason=_sentence(error))
    return replace(row, verdict=STANDS_DOWN if reason else SPECULATES, reason=reason or "")


def _lively(family: str) -> tuple[Any, list[int]]:
    """A target that ends at no token, and prompt and greedy answer as mlx-lm decodes it."""
    for seed in range(8):
        target = without_ends(tiny_loaded(family, vocab=READABLE, seed=seed))
        answer = _mlx_lms(target, PROMPT, LENGTH)
        if len(set(answer)) >= DISTINCT:
            return target, PROMPT + answer
    raise ValueError(f"no tiny model of it gives a text of {DISTINCT} different tokens")


def _mlx_lms(target: Any, prompt: list[int], length: int) -> list[int]:
    """mlx-lm's own greedy answer, of the tokens that mean something."""
    known = vocabulary(target)
    steps = generate_step(
        mx.array(prompt),
        target.model,
        max_tokens=length,
        sampler=lambda logits: mx.argmax(logits[:, :known], axis=-1),
    )
    return [token for token, _ in steps]


def _rows_distance(target: Any, text: list[int]) -> tuple[float, bool]:
    """Several rows at once against single ones, on mlx-lm's own caches.

    Returns:
        The largest difference of two logits, as a part of the largest logit; whether every argmax is
        the same.
    """
    model, known = target.model, vocabulary(target)
    cache = make_prompt_cache(model)
    single, warm = [], {}
    for i, token in enumerate(text):
        if i in dict(BLOCKS):
            warm[i] = copy.deepcopy(cache)
        single.append(model(mx.array([[token]]), cache=cache)[0, 0, :known].astype(mx.float32))
        mx.eval(single[-1])
    truth = mx.stack(single)
    finite = mx.where(mx.isinf(truth), 0, truth)
    distance, same = 0.0, True
    for start, rows in BLOCKS:
        # The row after the block shows what the block left in the cache.
        block = mx.array([text[start : start + rows]])
        after = mx.array([text[start + rows : start + rows + 1]])
        logits = [model(part, cache=warm[start])[0, :, :known] for part in (block, after)]
        got = mx.concatenate(logits).astype(mx.float32)
        want = finite[start : start + rows + 1]
        apart = mx.abs(mx.where(mx.isinf(got), 0, got) - want).max() / mx.abs(finite).max()
        distance = max(distance, apart.item())
        same &= mx.array_equal(mx.argmax(got, axis=-1), mx.argmax(want, axis=-1)).item()
    return distance, same


def _speculate(target: Any, text: list[int]) -> str | None:
    """Run every source at several K.

    Returns:
        Why the engine does not speculate, or None if it does.

    Raises:
        AssertionError: tokens or caches are not those of plain decoding.
    """
    answer = text[len(PROMPT) :]
    plain = Engine(target, None)
    _expect(_tokens(plain, PROMPT) == answer, "plain decoding is not mlx-lm's")
    # A second turn goes back to the middle of the answer; a third has a prompt longer than the windows.
    edited = [*text[:50], *letters(" but then")]
    turns = {
        "a second turn": (edited, _mlx_lms(target, edited, 24)),
        "a long prompt": (LONGER, _mlx_lms(target, LONGER, 24)),
    }
    for turn, (prompt, want) in turns.items():
        _expect(_tokens(plain, prompt, 24) == want, f"plain decoding after {turn} is not mlx-lm's")
    # Where rows depend on how many are read at once, a prompt reads like mlx-lm's in one piece only.
    chunk = 512 if plain.session.target.cannot_roll_back else 16
    reason = None
    for k in KS:
        for name, source in _sources(target, text, k).items():
            engine = Engine(target, source, k=k, prefill_chunk=chunk)
            where = f"{name}, K={k}"
            _expect(_tokens(engine, PROMPT) == answer, f"other tokens with {where}")
            assert engine.source is not None
            reason = engine.session.target.cannot_roll_back or engine.source.unable
            if reason is None:
                _like_fresh(engine, where)
            if reason is None and name == "self":
                _expect(engine.metrics.acceptance_rate == 1.0, f"{where} is not always accepted")
            if k < KS[-1]:
                continue
            for turn, (prompt, want) in turns.items():
                _expect(_tokens(engine, prompt, 24) == want, f"other tokens in {turn} with {where}")
                if reason is None:
                    _like_fresh(engine, f"{turn} with {where}")
    return reason


def _sources(target: Any, text: list[int], k: int) -> dict[str, Any]:
    bad = tiny_loaded("llama", vocab=target.info.vocab_size, layers=1, seed=9)
    return {
        "self": "self",
        "a bad model": drafts.model_source(target, bad, EngineOptions(k=k)),
        "a recorded answer with errors": Recorded(text, wrong=range(0, len(text), 4)),
    }


def _tokens(engine: Engine, prompt: list[int], length: int = LENGTH) -> list[int]:
    rounds = engine.generate(prompt, limits=Limits(max_tokens=length))
    return [token for event in rounds for token in event.tokens]


def _like_fresh(engine: Engine, where: str) -> None:
    try:
        assert_like_fresh(engine, tolerance=1e-3)
    except AssertionError as error:
        raise AssertionError(f"a cache is not like a fresh one after {where}") from error


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)


def _kinds(layers: list[Any]) -> str:
    def name(layer: Any) -> str:
        if isinstance(layer, CacheList):
            return " + ".join(name(part) for part in layer.caches)
        return type(layer).__name__

    return ", ".join(f"{n} {kind}" for kind, n in sorted(Counter(map(name, layers)).items()))


def _in_words(distance: float) -> str:
    """A difference to the power of ten: its digits depend on the processor."""
    if distance == 0:
        return "same bits"
    for power in (7, 6, 5, 4):
        if distance < 10.0**-power:
            return f"below 1e-{power}"
    return "differs"


def _sentence(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return "mlx-lm ends the program where this type's own package is missing"
    return " ".join(str(error).split()) or type(error).__name__
