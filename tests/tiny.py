"""Tiny random models of real mlx-lm families, with a small byte-level tokenizer.

Weights are float32 and depend on the seed alone, so a run can be repeated anywhere. Untied
embeddings and widened weights keep greedy text from falling into one repeated token at once.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from families import FAMILIES, SIZES
from mlx.utils import tree_flatten, tree_map_with_path
from mlx_lm.tokenizer_utils import BPEStreamingDetokenizer, TokenizerWrapper
from mlx_lm.utils import _get_classes
from tokenizers import AddedToken, Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from transformers import PreTrainedTokenizerFast

from models.loaded import Info, Loaded

END, TURN_START, TURN_END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
CHATML = (
    "{% for message in messages %}"
    "<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
MERGES = [
    "t h",
    "th e",
    "i n",
    "a n",
    "an d",
    "e r",
    "o u",
    "Ġ t",
    "Ġ a",
    "Ġ the",
    "l l",
    "o n",
    "Ġ 1",
    "1 2",
]
# Tokens of `tiny_tokenizer`: 3 special ones, 256 bytes, the merges.
VOCAB = 3 + 256 + len(MERGES)
ECHOING = ("cohere", "gemma2", "gemma3n", "gemma4", "gemma4_text", "openelm", "phi3small")


def tiny_tokenizer(eos: tuple[str, ...] = (END, TURN_END)) -> TokenizerWrapper:
    """A tokenizer of every byte, a few merges and three special tokens (ids 0, 1 and 2).

    Printable ASCII comes right after the special tokens, so even a model of 32 rows decodes to
    readable text.
    """
    alphabet = sorted(ByteLevel.alphabet(), key=lambda c: (not (c.isascii() and c.islower()), c))
    tokens = [END, TURN_START, TURN_END, "Ġ", *(c for c in alphabet if c != "Ġ")]
    tokens += [merge.replace(" ", "") for merge in MERGES]
    bpe = BPE(vocab={t: i for i, t in enumerate(tokens)}, merges=[tuple(m.split()) for m in MERGES])
    backend = Tokenizer(bpe)
    backend.pre_tokenizer = ByteLevel(add_prefix_space=False)
    backend.decoder = ByteLevelDecoder()
    backend.add_special_tokens([AddedToken(t, special=True) for t in (END, TURN_START, TURN_END)])
    fast = PreTrainedTokenizerFast(
        tokenizer_object=backend, eos_token=TURN_END, clean_up_tokenization_spaces=False
    )
    fast.chat_template = CHATML
    ids = [fast.convert_tokens_to_ids(token) for token in eos]
    return TokenizerWrapper(fast, BPEStreamingDetokenizer, eos_token_ids=ids)


def tiny_config(
    family: str = "llama", *, vocab: int = VOCAB, layers: int = 2, **changes: Any
) -> dict[str, Any]:
    """The config.json of a tiny model of `family`; `changes` override single entries."""
    sizes = {**SIZES, "vocab_size": vocab, "num_vocab": vocab, "num_hidden_layers": layers}
    common = {"model_type": family, **sizes}
    own = FAMILIES[family]
    if "text_config" in own:
        return {**common, **own, "text_config": {**common, **own["text_config"], **changes}}
    return {**common, **own, **changes}


def tiny_model(config: dict[str, Any], *, seed: int = 0, gain: float = 2.0) -> nn.Module:
    """A model of `config` with float32 weights that depend on `seed` alone."""
    model_class, args_class = _get_classes(config)
    model = model_class(args_class.from_dict(config))
    names = [name for name, _ in tree_flatten(model.parameters())]
    keys = dict(zip(names, mx.random.split(mx.random.key(seed), len(names)), strict=True))
    # The output of these is tied to their embeddings, which most of them scale up as well: at full scale each
    # token would be followed by itself.
    embedded = 1 / 8 if config["model_type"] in ECHOING else 1.0

    def fill(name: str, weight: mx.array) -> mx.array:
        if weight.dtype == mx.uint32:  # packed integers
            return mx.random.randint(0, 2**31 - 1, weight.shape, key=keys[name]).astype(mx.uint32)
        if name.endswith("A_log"):  # a model draws them without a key
            return mx.log(mx.arange(1, weight.size + 1)).reshape(weight.shape)
        if weight.ndim < 2 and not name.endswith("bias"):
            return weight.astype(mx.float32)
        scale = embedded if "embed" in name else gain / math.sqrt(weight.shape[-1])
        return mx.random.normal(weight.shape, key=keys[name]) * scale

    model.update(tree_map_with_path(fill, model.parameters()))
    model.eval()
    mx.eval(model.parameters())
    return model


def tiny_loaded(
    family: str = "llama",
    *,
    vocab: int = VOCAB,
    layers: int = 2,
    seed: int = 0,
    eos: tuple[str, ...] = (END, TURN_END),
    **changes: Any,
) -> Loaded:
    """A tiny random model with the tiny tokenizer, in the shape that `models.load` returns.

    Args:
        family: a key of `FAMILIES`.
        vocab: rows of the output; more than `VOCAB` leaves rows without a token.
        layers: transformer blocks.
        seed: of the weights.
        eos: texts of the end tokens.
        changes: entries of the configuration to override.
    """
    config = tiny_config(family, vocab=vocab, layers=layers, **changes)
    model = tiny_model(config, seed=seed)
    nbytes = sum(weight.nbytes for _, weight in tree_flatten(model.parameters()))
    info = Info(
        ref=f"tiny-{family}",
        name=f"tiny {family}",
        family=family,
        context_length=config["max_position_embeddings"],
        vocab_size=config["vocab_size"],
        dtype="float32",
        quantization=None,
        nbytes=nbytes,
    )
    return Loaded(model, tiny_tokenizer(eos), info)


def save_tiny(folder: Path, loaded: Loaded, config: dict[str, Any]) -> Path:
    """Write a tiny model as a folder in MLX format.

    Args:
        folder: is made.
        loaded: from `tiny_loaded`.
        config: of the same model, from `tiny_config`.

    Returns:
        The folder.
    """
    folder.mkdir(parents=True)
    weights = dict(tree_flatten(loaded.model.parameters()))
    mx.save_safetensors(str(folder / "model.safetensors"), weights, {"format": "mlx"})
    ends = {"eos_token_id": sorted(loaded.tokenizer.eos_token_ids)}
    (folder / "config.json").write_text(json.dumps({**config, **ends}))
    loaded.tokenizer.save_pretrained(folder)
    return folder
