"""The whole program on the embedded model: every draft source gives mlx-lm's own greedy tokens."""

from __future__ import annotations

import io
import json
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest
from mlx.utils import tree_flatten
from mlx_lm import stream_generate
from tiny import tiny_config, tiny_model

import models
from app.assistant.assistant import Assistant
from app.cli import main
from mlx_spec import Engine
from mlx_spec.policy.auto import K_MAX
from models.tokenizer import render_chat

# Ten kinds: fact, list, code, copying, arithmetic, translation, story, correction, Korean, structured.
PROMPTS = [
    "What is the capital of France?",
    "Name three fruits, one a line.",
    "Write a Python function that adds two numbers.",
    "Repeat exactly: the cat sat on the mat, the cat sat on the mat, the cat sat.",
    "What is 7 times 8? Show each step.",
    "Translate to Spanish: good morning, my friend.",
    "Begin a story about a lighthouse.",
    "Correct the spelling: I recieve teh lettre tomorow.",
    "한국의 수도는 어디입니까?",
    'Give a JSON object with the keys "name" and "age".',
]


@pytest.fixture(scope="module")
def target() -> Any:
    return models.load("builtin", dtype="float32")


@pytest.fixture(scope="module")
def tiny_draft(target: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny random model with the target's tokenizer, as a folder in MLX format."""
    folder = tmp_path_factory.mktemp("tiny-draft")
    config = tiny_config("llama", vocab=target.info.vocab_size, max_position_embeddings=8192)
    (folder / "config.json").write_text(json.dumps({**config, "eos_token_id": [2]}))
    mx.save_safetensors(
        str(folder / "model.safetensors"),
        dict(tree_flatten(tiny_model(config).parameters())),
        metadata={"format": "mlx"},
    )
    target.tokenizer.save_pretrained(folder)
    shutil.rmtree(folder / "original", ignore_errors=True)
    return folder


@pytest.fixture(autouse=True)
def one_run(target: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each `ask` is a whole run of the program, but for reading the same weights again and measuring."""
    monkeypatch.setattr(Assistant, "measure", lambda self: (_ for _ in ()))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    load = cache(models.load)
    monkeypatch.setattr(
        models,
        "load",
        lambda ref, dtype=None, progress=None: (
            target if (ref, dtype) == ("builtin", "float32") else load(ref, dtype=dtype)
        ),
    )


def mlx_lms_answer(target: Any, prompt: str, count: int) -> list[int]:
    ids = render_chat(target.tokenizer, [{"role": "user", "content": prompt}])
    responses = list(stream_generate(target.model, target.tokenizer, ids, max_tokens=count))
    tokens = [response.token for response in responses]
    return tokens[:-1] if responses[-1].finish_reason == "stop" else tokens


def ask(capsys: pytest.CaptureFixture[str], prompt: str, draft: str, count: int) -> dict[str, Any]:
    options = ["--json", "--dtype", "float32", "--draft", draft, "--k", "4", "--max-tokens", str(count)]
    assert main(["ask", prompt, *options]) == 0
    return json.loads(capsys.readouterr().out)


def check(target: Any, tiny_draft: Path, capsys: Any, prompt: str, count: int) -> None:
    want = mlx_lms_answer(target, prompt, count)
    for draft in ("none", "lookup", "self", f"model:{tiny_draft}"):
        answer = ask(capsys, prompt, draft, count)
        assert answer["tokens"] == want, draft
        assert answer["text"] == target.tokenizer.decode(want)
        speculation = answer["speculation"]
        if draft == "none":
            assert speculation["state"] == "off"
            assert set(answer["origins"]) <= {"plain"}
        elif draft == "self":
            assert speculation["acceptance_by_position"] == [1.0] * len(speculation["acceptance_by_position"])
            assert speculation["accepted"] == speculation["drafted"] > 0


@pytest.mark.real
@pytest.mark.parametrize("prompt", [PROMPTS[0], PROMPTS[3]])
def test_every_source_gives_mlx_lms_tokens(target, tiny_draft, capsys, prompt):
    check(target, tiny_draft, capsys, prompt, count=10)


@pytest.mark.slow
@pytest.mark.parametrize("prompt", PROMPTS)
def test_every_source_gives_mlx_lms_tokens_for_longer(target, tiny_draft, capsys, prompt):
    check(target, tiny_draft, capsys, prompt, count=32)


@pytest.mark.real
def test_the_embedded_model_as_shipped_knows_paris(capsys):
    assert main(["ask", PROMPTS[0], "--max-tokens", "8"]) == 0
    assert capsys.readouterr().out == "The capital of France is Paris.\n"


@pytest.mark.real
def test_one_block_of_measurements_on_the_model_as_shipped():
    engine = Engine(models.load("builtin"), "self")
    measured = engine.measure()
    for _, _ in zip(range(28), measured, strict=False):  # the last is the first of a second block
        pass
    measured.close()
    costs = engine.metrics.speculation()["verify_cost"]
    if engine.metrics.spoilt:  # by whatever else this machine did meanwhile: that is told, and nothing used
        assert not costs
    else:
        assert set(costs) == {"1", "2", "3", "5", str(K_MAX + 1)}
        assert costs["1"] == 1.0
        assert 1.0 < costs["5"] < 10  # about 4.5; a busy machine blurs it
    assert engine.session.target.rows == 0
