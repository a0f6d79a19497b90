"""A GGUF file gives the model that it holds: same logits, same text, weights still quantized."""

from pathlib import Path
from typing import Any

import gguf_file
import mlx.core as mx
import numpy as np
import pytest
from mlx.utils import tree_flatten
from tiny import TURN_END, VOCAB, tiny_config, tiny_model, tiny_tokenizer

from models import ModelError, load
from models.gguf.blocks import read_tensor
from models.gguf.header import read_header
from models.gguf.tokens import pre_tokenizer

PROMPT = mx.array([[5, 9, 30, 7, 12, 50, 3, 3, 8, 100]])


def make(
    path: Path, family: str, kinds: dict[str, str], config: dict[str, Any] | None = None, **changes: Any
) -> Any:
    """Write a tiny model and return the mlx-lm model with the values that the file holds."""
    config = config or tiny_config(family)
    model = tiny_model(config, seed=3)
    weights = {name: np.array(value) for name, value in tree_flatten(model.parameters())}
    held = gguf_file.write_model(path, config, weights, kinds, **changes)
    model.load_weights([(name, mx.array(value)) for name, value in held.items()])
    return model


@pytest.mark.parametrize("kind", gguf_file.TYPES)
@pytest.mark.parametrize("family", ["llama", "qwen2", "qwen3"])
def test_dequantized_logits_are_those_of_the_same_weights_in_mlx_lm(
    tmp_path: Path, family: str, kind: str
) -> None:
    expected = make(tmp_path / "tiny.gguf", family, {"": kind})(PROMPT)
    loaded = load(str(tmp_path / "tiny.gguf"), dtype="float32")
    assert mx.abs(loaded.model(PROMPT) - expected).max().item() < 1e-4
    assert (loaded.info.quantization, loaded.info.dtype) == (None, "float32")


@pytest.mark.parametrize("family", ["llama", "qwen2", "qwen3"])
def test_quantized_tensors_stay_quantized_each_in_its_own_bits(tmp_path: Path, family: str) -> None:
    kinds = {"": "Q4_1", "token_embd": "Q8_0", "ffn_down": "F16", "attn_v": "Q4_0"}
    expected = make(tmp_path / "tiny.gguf", family, kinds)(PROMPT)
    loaded = load(str(tmp_path / "tiny.gguf"))
    assert mx.abs(loaded.model(PROMPT) - expected).max().item() < 0.02 * mx.abs(expected).max().item()
    layer = loaded.model.model.layers[0]
    assert (loaded.model.model.embed_tokens.bits, layer.self_attn.q_proj.bits) == (8, 4)
    assert not hasattr(layer.mlp.down_proj, "bits")
    assert loaded.info.quantization == "4-bit"


def test_packed_tensors_equal_those_of_mlx_own_reader(tmp_path: Path) -> None:
    kinds = {"": "Q4_1", "token_embd": "Q8_0", "ffn_down": "F16", "attn_v": "Q4_0"}
    make(tmp_path / "tiny.gguf", "llama", kinds)
    header, reference = read_header(tmp_path / "tiny.gguf"), mx.load(str(tmp_path / "tiny.gguf"))
    for tensor in header.tensors.values():
        for role, values in read_tensor(header, tensor).items():
            theirs = reference[f"{tensor.name.rsplit('.', 1)[0]}.{role}" if role != "weight" else tensor.name]
            assert values.dtype == theirs.dtype
            assert mx.array_equal(values, theirs).item(), tensor.name


def test_a_file_that_may_not_be_written_is_read(tmp_path: Path) -> None:
    make(tmp_path / "tiny.gguf", "llama", {"": "Q8_0"})
    (tmp_path / "tiny.gguf").chmod(0o444)
    assert load(str(tmp_path / "tiny.gguf")).info.name == "tiny"


def test_tied_embeddings_serve_as_output(tmp_path: Path) -> None:
    config = tiny_config("qwen3", tie_word_embeddings=True)
    expected = make(tmp_path / "tiny.gguf", "qwen3", {"": "F32"}, config)(PROMPT)
    actual = load(str(tmp_path / "tiny.gguf"), dtype="float32").model(PROMPT)
    assert mx.abs(actual - expected).max().item() < 1e-4


def test_heads_wider_than_the_embedding_are_kept(tmp_path: Path) -> None:
    config = tiny_config("llama", head_dim=32)
    expected = make(tmp_path / "tiny.gguf", "llama", {"": "F32"}, config)(PROMPT)
    actual = load(str(tmp_path / "tiny.gguf"), dtype="float32").model(PROMPT)
    assert mx.abs(actual - expected).max().item() < 1e-4


def test_linear_rope_scaling_is_kept(tmp_path: Path) -> None:
    config = tiny_config("llama", rope_scaling={"type": "linear", "factor": 4.0})
    changes = {"llama__rope__scaling__type": "linear", "llama__rope__scaling__factor": 4.0}
    expected = make(tmp_path / "tiny.gguf", "llama", {"": "F32"}, config, **changes)(PROMPT)
    actual = load(str(tmp_path / "tiny.gguf"), dtype="float32").model(PROMPT)
    assert mx.abs(actual - expected).max().item() < 1e-4


def test_llama3_rope_factors_become_its_rule(tmp_path: Path) -> None:
    rule = {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }
    config = tiny_config("llama", head_dim=64, rope_theta=500000.0, rope_scaling=rule)
    model = tiny_model(config, seed=3)
    frequencies = 500000.0 ** (np.arange(0, 64, 2) / 64)
    factors = np.array(model.layers[0].self_attn.rope._freqs) / frequencies
    weights = {name: np.array(value) for name, value in tree_flatten(model.parameters())}
    path = tmp_path / "tiny.gguf"
    gguf_file.write_model(path, config, weights, {"": "F32"})
    _add_tensor(path, config, weights, factors)
    far = mx.concatenate([PROMPT] * 12, axis=1)
    assert mx.abs(load(str(path), dtype="float32").model(far) - model(far)).max().item() < 1e-3
    _add_tensor(path, config, weights, factors * np.linspace(1, 2, 32))
    with pytest.raises(ModelError, match="rotary factors"):
        load(str(path))


def _add_tensor(
    path: Path, config: dict[str, Any], weights: dict[str, np.ndarray], factors: np.ndarray
) -> None:
    """Write the model again with a tensor of rotary factors."""
    gguf_file.NAMES["rope"] = "rope_freqs"
    try:
        gguf_file.write_model(path, config, {**weights, "rope.weight": factors}, {"": "F32"})
    finally:
        del gguf_file.NAMES["rope"]


def test_the_tokenizer_comes_along(tmp_path: Path) -> None:
    config = tiny_config("qwen3", vocab=VOCAB + 15)
    make(tmp_path / "tiny.gguf", "qwen3", {"": "F16"}, config)
    loaded, original = load(str(tmp_path / "tiny.gguf")), tiny_tokenizer()
    messages = [{"role": "user", "content": "the 12 cats, 한국 नमस्ते 👩🏽‍🚀\n"}]
    ids = original.apply_chat_template(messages, add_generation_prompt=True)
    assert loaded.tokenizer.apply_chat_template(messages, add_generation_prompt=True) == ids
    assert loaded.tokenizer.decode(ids) == original.decode(ids)
    assert loaded.tokenizer.eos_token_ids == original.eos_token_ids
    # Rows that only pad the output are no tokens.
    assert (len(loaded.tokenizer.get_vocab()), loaded.info.vocab_size) == (VOCAB, VOCAB + 15)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"general__architecture": "gemma3"}, "architecture 'gemma3'"),
        ({"tokenizer__ggml__pre": "tekken"}, "unknown way 'tekken'"),
        ({"tokenizer__ggml__pre": None}, "unnamed way"),
        ({"tokenizer__ggml__model": "llama"}, "tokenizer of the kind 'llama'"),
        ({"llama__rope__scaling__type": "yarn"}, "yarn"),
        ({"llama__rope__dimension_count": 8}, "part of each head"),
        ({"llama__expert_count": 8}, "mixture of experts"),
        ({"llama__block_count": 100_000}, "100000 layers"),
        ({"llama__attention__head_count": 0}, "head_count"),
        ({"llama__block_count": "2"}, "block_count"),
        ({"llama__context_length": None}, "context_length"),
        ({"tokenizer__ggml__merges": ["zz yy"]}, "merges"),
        ({"tokenizer__ggml__token_type": [1, 1]}, "one token type for each"),
    ],
)
def test_what_would_run_wrong_is_refused_by_name(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    make(tmp_path / "tiny.gguf", "llama", {"": "F16"}, **changes)
    with pytest.raises(ModelError, match=words) as refusal:
        load(str(tmp_path / "tiny.gguf"))
    assert "tiny.gguf" in refusal.value.message
    assert refusal.value.next_step


def test_llama3_text_starts_with_its_bos_token(tmp_path: Path) -> None:
    make(tmp_path / "tiny.gguf", "llama", {"": "F16"}, tokenizer__ggml__pre="llama-bpe")
    tokenizer = load(str(tmp_path / "tiny.gguf")).tokenizer
    assert tokenizer.encode("the cat")[0] == tokenizer.bos_token_id == 0
    assert tokenizer.convert_tokens_to_ids(TURN_END) in tokenizer.eos_token_ids


@pytest.mark.parametrize(
    ("split", "pieces"),
    [
        ("smollm", ["It", "'s", "Ġ", "1", "2", "3", "4", "ĠEuros", "Ċ", "Ċ", "if", "Ġ(", "x", ")"]),
        ("qwen2", ["It", "'s", "Ġ", "1", "2", "3", "4", "ĠEuros", "ĊĊ", "if", "Ġ(", "x", ")"]),
        ("llama-bpe", ["It", "'s", "Ġ", "123", "4", "ĠEuros", "ĊĊ", "if", "Ġ(", "x", ")"]),
        ("gpt-2", ["It", "'s", "Ġ1234", "ĠEuros", "Ċ", "Ċ", "if", "Ġ(", "x", ")"]),
    ],
)
def test_text_is_cut_as_the_model_was_trained(split: str, pieces: list[str]) -> None:
    cut = pre_tokenizer(split).pre_tokenize_str("It's 1234 Euros\n\nif (x)")
    assert [piece for piece, _ in cut] == pieces
