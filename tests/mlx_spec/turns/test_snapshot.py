"""A session's text and cache, saved and taken up again: by the same model and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mlx.core as mx
import pytest
from answers import answer, fresh_answer
from fresh import assert_like_fresh
from readable import PROMPT, READABLE, letters, without_ends
from tiny import tiny_loaded

from mlx_spec import Engine
from mlx_spec.errors import SnapshotMismatch
from mlx_spec.turns import snapshot

Saved = tuple[dict[str, mx.array], dict[str, str]]
LONG = letters("the cat and the dog met a bird and a fish ") * 4
MORE = letters(" and then")


def tiny(family: str = "llama", **changes: Any) -> Any:
    return without_ends(tiny_loaded(family, vocab=READABLE, **{"seed": 8, **changes}))


@pytest.fixture(scope="module")
def target() -> Any:
    return tiny()


def through_a_file(path: Path, saved: Saved) -> Saved:
    mx.save_safetensors(str(path), *saved)
    loaded: Any = mx.load(str(path), return_metadata=True)
    return loaded


@pytest.mark.parametrize(
    "family",
    ["llama", "gemma3_text", "qwen3_next", "falcon_h1", "lfm2", "gpt_oss", "deepseek_v3", "gemma4_text"],
)
def test_a_chat_goes_on_in_another_engine_without_reading_its_text(family, tmp_path):
    changes = {"vocab_size_per_layer_input": READABLE} if family == "gemma4_text" else {}
    model = tiny(family, **changes)
    first = Engine(model, "self", k=3)
    text = LONG + answer(first, LONG, max_tokens=20)
    second = Engine(model, "self", k=3)
    second.adopt(*through_a_file(tmp_path / "a.safetensors", first.export()))
    assert second.session.committed == text
    assert answer(second, text + MORE, max_tokens=12) == fresh_answer(model, text + MORE, max_tokens=12)
    assert second.metrics.prefilled_tokens == len(MORE)
    assert_like_fresh(second)


def test_a_quantized_cache_is_saved_as_it_is(tmp_path):
    model = tiny(head_dim=32)
    first, second = (Engine(model, "lookup", k=3, kv_bits=8) for _ in range(2))
    text = PROMPT + answer(first, PROMPT, max_tokens=20)
    second.adopt(*through_a_file(tmp_path / "a.safetensors", first.export()))
    prompt = text + MORE
    assert answer(second, prompt, max_tokens=12) == answer(first, prompt, max_tokens=12)
    assert second.metrics.prefilled_tokens == len(MORE)


@pytest.mark.parametrize("family", ["llama", "gemma3_text", "llama4_text"])
def test_rows_that_were_taken_back_are_not_saved(family):
    engine = Engine(tiny(family), None)
    answer(engine, LONG, max_tokens=4)
    answer(engine, PROMPT, max_tokens=4)
    arrays, facts = engine.export()
    rows = int(facts["rows"])
    assert rows == len(PROMPT) + 3
    assert {array.shape[2] for name, array in arrays.items() if name != "tokens"} == {rows}


def test_an_engine_that_said_nothing_yet_can_be_saved(target):
    engine = Engine(target, None)
    engine.adopt(*Engine(target, None).export())
    assert answer(engine, max_tokens=4) == fresh_answer(target, PROMPT, max_tokens=4)


def with_info(loaded: Any, **changes: Any) -> Any:
    return SimpleNamespace(
        model=loaded.model, tokenizer=loaded.tokenizer, info=replace(loaded.info, **changes)
    )


OTHERS: dict[str, Callable[[Any], Engine]] = {
    "model": lambda target: Engine(with_info(target, name="another"), None),
    "revision": lambda target: Engine(with_info(target, revision="abc"), None),
    "dtype": lambda target: Engine(with_info(target, dtype="float16"), None),
    "quantization": lambda target: Engine(with_info(target, quantization="4-bit"), None),
    "weights": lambda target: Engine(tiny(seed=7), None),
    "kv-bits": lambda target: Engine(tiny(head_dim=32), None, kv_bits=8),
}


@pytest.mark.parametrize("what", OTHERS)
def test_what_another_engine_saved_is_refused_with_the_reason(target, what):
    saver = Engine(tiny(head_dim=32), None) if what == "kv-bits" else Engine(target, None)
    answer(saver, max_tokens=4)
    engine = OTHERS[what](target)
    with pytest.raises(SnapshotMismatch, match=rf"does not fit: it was made with {what} .*, not "):
        engine.adopt(*saver.export())
    assert engine.session.committed == []
    assert len(answer(engine, max_tokens=4)) == 4


@pytest.mark.parametrize("what", ["tokenizer", "mlx-lm version", "format"])
def test_other_versions_are_refused_with_the_reason(target, what):
    arrays, facts = Engine(target, None).export()
    with pytest.raises(SnapshotMismatch, match=f"it was made with {what} old, not "):
        Engine(target, None).adopt(arrays, {**facts, what: "old"})


def numbers(facts: dict[str, str], **changes: Any) -> None:
    facts["numbers"] = json.dumps({**json.loads(facts["numbers"]), **changes})


def harm(name: str, arrays: dict[str, mx.array], facts: dict[str, str]) -> None:
    """Change a saved cache of gemma3_text as `name` says, with a checksum that fits."""
    keys = arrays["layers.0.0"]
    match name:
        case "no tokens":
            del arrays["tokens"]
        case "a token beyond the vocabulary":
            arrays["tokens"][3] = READABLE
        case "tokens of another type":
            arrays["tokens"] = arrays["tokens"].astype(mx.float32)
        case "more rows than tokens":
            facts["rows"] = "999999"
        case "rows that are no number":
            facts["rows"] = "many"
        case "negative rows":
            facts["rows"] = "-5"
        case "a layer is missing":
            del arrays["layers.1.0"]
        case "another head dimension":
            arrays["layers.0.0"] = keys[..., :8]
        case "another type":
            arrays["layers.0.0"] = keys.astype(mx.float16)
        case "a number that is none":
            arrays["layers.0.0"] = keys * mx.nan
        case "fewer rows than it says":
            arrays["layers.0.0"] = keys[:, :, :5]
        case "an array without rows":
            arrays["layers.0.0"] = keys[:, :, :0]
        case "an offset that is another":
            numbers(facts, **{"layers.0.2": 3})
        case "an offset that is huge":
            numbers(facts, **{"layers.0.2": 10**30})
        case "a window that is another":
            numbers(facts, **{"layers.0.3": 10**9})
        case "a start beyond the end":
            numbers(facts, **{"layers.0.4": int(facts["rows"])})
        case "a start before the beginning":
            numbers(facts, **{"layers.0.4": -50})
        case "a number that is a list":
            numbers(facts, **{"layers.0.2": [1]})
        case "numbers that are no table":
            facts["numbers"] = "[1]"
        case "numbers that are no JSON":
            facts["numbers"] = "{"
    facts["sum"] = snapshot._sum(arrays)


HARMS = [
    "no tokens",
    "a token beyond the vocabulary",
    "tokens of another type",
    "more rows than tokens",
    "rows that are no number",
    "negative rows",
    "a layer is missing",
    "another head dimension",
    "another type",
    "a number that is none",
    "fewer rows than it says",
    "an array without rows",
    "an offset that is another",
    "an offset that is huge",
    "a window that is another",
    "a start beyond the end",
    "a start before the beginning",
    "a number that is a list",
    "numbers that are no table",
    "numbers that are no JSON",
]


@pytest.fixture(scope="module")
def windowed() -> tuple[Any, Engine]:
    model = tiny("gemma3_text")
    saver = Engine(model, None)
    answer(saver, LONG, max_tokens=4)
    return model, saver


@pytest.mark.parametrize("name", HARMS)
def test_a_file_that_cannot_be_is_refused_and_the_text_is_read_again(windowed, name):
    model, saver = windowed
    arrays, facts = saver.export()
    arrays = {key: mx.array(array) for key, array in arrays.items()}
    harm(name, arrays, facts)
    engine = Engine(model, None)
    with pytest.raises(SnapshotMismatch, match="does not fit"):
        engine.adopt(arrays, facts)
    assert (engine.session.committed, engine.session.target.rows) == ([], 0)
    assert answer(engine, max_tokens=4) == fresh_answer(model, PROMPT, max_tokens=4)


def test_one_wrong_number_in_the_cache_is_found(windowed):
    model, saver = windowed
    arrays, facts = saver.export()
    arrays = {key: mx.array(array) for key, array in arrays.items()}
    arrays["layers.1.0"][0, 0, 7, 3] += 1e-3
    with pytest.raises(SnapshotMismatch, match="it is damaged"):
        Engine(model, None).adopt(arrays, facts)
