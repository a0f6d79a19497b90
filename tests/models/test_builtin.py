"""The builtin model speaks, and its tokenizer is the one that it was trained with."""

from collections.abc import Iterator

import mlx.core as mx
import pytest
from mlx_lm.generate import generate_step

from models import Loaded, load
from models.tokenizer import render_chat

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loaded]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPECCHAT_HOME", str(tmp_path_factory.mktemp("home")))
        yield load("builtin")


def greedy(loaded: Loaded, prompt: list[int], tokens: int) -> str:
    steps = generate_step(mx.array(prompt), loaded.model, max_tokens=tokens)
    return loaded.tokenizer.decode([token for token, _ in steps])


def test_its_facts(loaded: Loaded) -> None:
    info = loaded.info
    assert (info.name, info.family, info.quantization) == ("SmolLM2-135M-Instruct", "llama", "4-bit")
    assert (info.context_length, info.vocab_size) == (8192, 49152)
    assert len(loaded.tokenizer.get_vocab()) == 49152


def test_it_knows_the_capital_of_france(loaded: Loaded) -> None:
    assert "Paris" in greedy(loaded, loaded.tokenizer.encode("The capital of France is"), 4)


def test_it_answers_a_chat(loaded: Loaded) -> None:
    prompt = render_chat(loaded.tokenizer, [{"role": "user", "content": "What is the capital of France?"}])
    assert greedy(loaded, prompt, 8).startswith("The capital of France is Paris")


def test_its_chat_template_is_rendered_with_special_tokens(loaded: Loaded) -> None:
    ids = render_chat(loaded.tokenizer, [{"role": "user", "content": "hi"}])
    assert ids[0] == 1  # <|im_start|>
    assert loaded.tokenizer.decode(ids) == (
        "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
        "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"
    )
    assert loaded.tokenizer.eos_token_ids == {0, 2}


@pytest.mark.parametrize(
    "text",
    [
        "The quick brown fox, isn't it? It's 3.14159 and 2026-11-29.",
        "안녕하세요, 세계! 한국어 텍스트입니다.",
        "👩🏽‍🚀 🙂 ❤️ family: 👨‍👩‍👧‍👦",
        "नमस्ते दुनिया, यह हिन्दी है।",
        "def f(x):\n\treturn {'a': [x ** 2 for _ in range(10)]}  # ok\n\n\n",
        "  leading, trailing   \r\n\ttabs\u00a0and\u200bodd spaces ",
        "\x00\x1b[31m",
    ],
)
def test_text_survives_the_tokenizer(loaded: Loaded, text: str) -> None:
    assert loaded.tokenizer.decode(loaded.tokenizer.encode(text)) == text


def test_digits_stand_alone_and_words_take_their_space(loaded: Loaded) -> None:
    tokenizer = loaded.tokenizer
    pieces = tokenizer.convert_ids_to_tokens(tokenizer.encode("Hello world 2026"))
    assert pieces == ["Hello", "Ġworld", "Ġ", "2", "0", "2", "6"]
    assert tokenizer.encode("Hello world") == [19556, 905]
