"""The tiny models that the other tests lean on are repeatable."""

import mlx.core as mx
import pytest
from tiny import VOCAB, tiny_loaded, tiny_tokenizer


@pytest.mark.parametrize("family", ["llama", "gemma3n", "deepseek_v3", "qwen3_5", "mamba2", "rwkv7"])
def test_the_seed_alone_decides_the_weights(family: str) -> None:
    prompt = mx.array([[5, 6, 7]])
    first, again, other = (tiny_loaded(family, seed=seed).model(prompt) for seed in (1, 1, 2))
    assert mx.array_equal(first, again).item()
    assert not mx.allclose(first, other).item()


def test_the_tokenizer_knows_every_byte() -> None:
    tokenizer = tiny_tokenizer()
    text = "the 12 cats, 한국 नमस्ते 👩🏽‍🚀\n"
    assert len(tokenizer.get_vocab()) == VOCAB
    assert tokenizer.decode(tokenizer.encode(text)) == text
