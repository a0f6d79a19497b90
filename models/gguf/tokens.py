"""From the token tables of a GGUF file to a tokenizer that transformers can load."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import AddedToken, Regex, Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.normalizers import NFC
from tokenizers.pre_tokenizers import ByteLevel, Digits, PreTokenizer, Sequence, Split
from tokenizers.processors import ByteLevel as ByteLevelOffsets
from tokenizers.processors import TemplateProcessing

from models.errors import ModelError
from models.gguf.header import Damaged, Header

_CONTROL, _USER_DEFINED, _UNUSED = 3, 4, 5
# Control tokens that end a turn or a text in chat models, besides those that the file names.
_ENDS = ("<|im_end|>", "<|eot_id|>", "<|endoftext|>", "<|end_of_text|>", "<|eom_id|>")
_NAMED_ENDS = ("eos_token_id", "eot_token_id", "eom_token_id")

# How text is cut before byte pairs are merged: the patterns of Qwen 2 and of Llama 3 differ in how
# many digits stay together.
_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_SPLITS = ("smollm", "qwen2", "llama-bpe", "gpt-2", "default")


def write_tokenizer(header: Header, folder: Path) -> list[int]:
    """Write tokenizer.json, tokenizer_config.json and chat_template.jinja into `folder`.

    Returns:
        The ids of the tokens that end a turn or the text.

    Raises:
        ModelError: if the file's tokenizer is of a kind that is not supported, or damaged.
    """
    tables = _Tables(header)
    backend = _backend(header, tables)
    backend.save(str(folder / "tokenizer.json"), pretty=False)
    config: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
    }
    for role, key in (("bos", "bos"), ("eos", "eos"), ("unk", "unknown"), ("pad", "padding")):
        if (token := tables.named(f"{key}_token_id")) is not None:
            config[f"{role}_token"] = tables.tokens[token]
    (folder / "tokenizer_config.json").write_text(json.dumps(config, ensure_ascii=False, indent=1), "utf-8")
    template = header.text("tokenizer.chat_template")
    if template is not None:
        (folder / "chat_template.jinja").write_text(template, "utf-8")
    return tables.ends()


class _Tables:
    """The token tables of a file, checked against each other."""

    def __init__(self, header: Header) -> None:
        self.header = header
        self.kind = header.text("tokenizer.ggml.model")
        tokens, merges = self._get("tokens"), self._get("merges")
        types = self._get("token_type")
        if self.kind != "gpt2":
            raise ModelError(
                f"{header.path} has a tokenizer of the kind {str(self.kind)[:40]!r}; only gpt2 can be read.",
                "Use an MLX version of this model.",
            )
        if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
            raise Damaged(header.path, "it has no token table")
        if not isinstance(merges, list) or not all(isinstance(m, str) and " " in m for m in merges):
            raise Damaged(header.path, "it has no table of merges")
        if types is None:
            types = np.ones(len(tokens), np.int32)
        if not isinstance(types, np.ndarray) or len(types) != len(tokens):
            raise Damaged(header.path, f"it has not one token type for each of its {len(tokens)} tokens")
        self.types = types.astype(np.int64).tolist()
        # Unused rows at the end only pad the output. They are no tokens.
        while tokens and self.types[len(tokens) - 1] == _UNUSED:
            tokens = tokens[:-1]
        self.tokens: list[str] = tokens
        self.merges = [tuple(merge.split(" ", 1)) for merge in merges]
        rows = header.tensors["token_embd.weight"].shape[0]
        if len(self.tokens) > rows:
            raise Damaged(header.path, f"it has {len(self.tokens)} tokens but embeddings for {rows}")
        if len(set(self.tokens)) != len(self.tokens):
            raise Damaged(header.path, "it has two tokens with the same text")

    def _get(self, key: str) -> Any:
        return self.header.metadata.get(f"tokenizer.ggml.{key}")

    def named(self, key: str) -> int | None:
        """The id of a token that the file names by its role, or None."""
        token = self._get(key)
        return token if isinstance(token, int) and 0 <= token < len(self.tokens) else None

    def added(self, kind: int) -> list[str]:
        return [text for text, own in zip(self.tokens, self.types, strict=False) if own == kind]

    def ends(self) -> list[int]:
        known = {token for key in _NAMED_ENDS if (token := self.named(key)) is not None}
        known |= {i for i, text in enumerate(self.tokens) if text in _ENDS and self.types[i] == _CONTROL}
        return sorted(known)

    def starts_with_bos(self, split: str) -> bool:
        """Whether a text begins with the BOS token; Llama 3 files may leave it unsaid."""
        return bool(
            self._get("add_bos_token") if self._get("add_bos_token") is not None else split == "llama-bpe"
        )


def _backend(header: Header, tables: _Tables) -> Tokenizer:
    split = header.text("tokenizer.ggml.pre")
    if split is None or split not in _SPLITS:
        said = f"the unknown way {str(split)[:40]!r}" if split else "an unnamed way"
        raise ModelError(
            f"{header.path} cuts its text in {said}; known are {', '.join(_SPLITS)}.",
            "Use a newer GGUF file or an MLX version of this model.",
        )
    try:
        model = BPE(
            vocab={text: i for i, text in enumerate(tables.tokens)},
            merges=tables.merges,
            # Llama 3 takes a whole word that is a token as it is, even if its merges lead elsewhere.
            ignore_merges=split == "llama-bpe",
        )
        backend = Tokenizer(model)
    except Exception as error:
        # The library raises plain Exception for a merge of unknown tokens.
        raise Damaged(header.path, f"its merges do not fit its tokens ({error})") from error
    backend.pre_tokenizer = pre_tokenizer(split)
    if split == "qwen2":
        backend.normalizer = NFC()
    backend.decoder = ByteLevelDecoder()
    backend.post_processor = _post_processor(tables, split)
    backend.add_special_tokens(
        [AddedToken(t, special=True, normalized=False) for t in tables.added(_CONTROL)]
    )
    backend.add_tokens([AddedToken(t, special=False, normalized=False) for t in tables.added(_USER_DEFINED)])
    return backend


def pre_tokenizer(split: str) -> PreTokenizer:
    """What cuts a text into the pieces in which byte pairs are merged, by its name in GGUF."""
    if split == "smollm":
        return Sequence([Digits(individual_digits=True), ByteLevel(add_prefix_space=False)])
    if split in ("gpt-2", "default"):
        return ByteLevel(add_prefix_space=False)
    words = Regex(_WORDS % ("" if split == "qwen2" else "{1,3}"))
    return Sequence([Split(words, "isolated"), ByteLevel(add_prefix_space=False, use_regex=False)])


def _post_processor(tables: _Tables, split: str) -> Any:
    bos = tables.named("bos_token_id")
    if bos is None or not tables.starts_with_bos(split):
        return ByteLevelOffsets(trim_offsets=False)
    text = tables.tokens[bos]
    return TemplateProcessing(single=f"{text} $A", pair=f"{text} $A {text} $B", special_tokens=[(text, bos)])
