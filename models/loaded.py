"""A model in memory with its tokenizer and what is known about it, and the way it gets there.

Importing this module is cheap: MLX is imported when a model is loaded.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from models import builtin
from models.conversion import converted
from models.errors import ModelError
from models.folder import check
from models.reference import Reference

if TYPE_CHECKING:
    import mlx.nn as nn
    from mlx_lm.tokenizer_utils import TokenizerWrapper


@dataclass(frozen=True)
class Info:
    """Facts about a loaded model.

    Attributes:
        ref: what the user named: `builtin`, a path, or a hub repository.
        name: a name for the screen, without the quantization.
        family: the `model_type` of its configuration, such as `llama`.
        context_length: tokens that it was made for, at most.
        vocab_size: rows of its output, which may be more than the tokenizer has tokens.
        dtype: floating-point type of its activations, such as `float16`.
        quantization: such as `4-bit`, or None for plain weights.
        nbytes: bytes of its weights in memory.
        revision: commit of the hub repository, or None for local files.
    """

    ref: str
    name: str
    family: str
    context_length: int
    vocab_size: int
    dtype: str
    quantization: str | None
    nbytes: int
    revision: str | None = None


@dataclass(frozen=True)
class Loaded:
    """A model ready to run.

    Attributes:
        model: (1, M) token ids and a KV cache to (1, M, V) logits.
        tokenizer: text to token ids and back, with the chat template and the end tokens.
        info: facts about the model.
    """

    model: nn.Module
    tokenizer: TokenizerWrapper
    info: Info


# The end of a model's name that tells how its numbers are stored, which `Info.quantization` tells better.
_STORAGE = re.compile(r"[-._](i?q\d\w*|\d+-?bit|b?f(p|loat)?(16|32))$", re.IGNORECASE)
_CONTEXT_KEYS = ("max_position_embeddings", "max_sequence_length", "n_positions", "seq_length")
UNSTATED_CONTEXT = 8192  # tokens, for the models that state no limit


def load(ref: str, *, dtype: str | None = None, progress: Callable[[str], None] | None = None) -> Loaded:
    """Load a model and its tokenizer, fetching or converting it first where needed.

    Args:
        ref: `builtin`, a folder in MLX format, a .gguf file, or a hub repository `org/name[@revision]`.
        dtype: `float32`, `float16` or `bfloat16` dequantizes to it; None keeps the model as it is.
        progress: is told in sentences what takes long or went another way.

    Raises:
        ValueError: if `dtype` is none of those.
        ModelMissing: if there is no such model or no way to fetch it.
        ModelError: if it is damaged, unsupported or unsafe to load.
    """
    # Read by the hub client when it is first imported, which mlx-lm does.
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    if dtype not in (None, "float32", "float16", "bfloat16"):
        raise ValueError(f"dtype must be float32, float16 or bfloat16, not {dtype}")
    tell = progress or (lambda sentence: None)
    try:
        reference = Reference.parse(ref)
        with _opened(reference, tell) as (folder, name, revision):
            return _load_folder(reference, folder, name, revision, dtype, tell)
    except OSError as error:
        place = str(error.filename or ref)[:200]
        raise ModelError(
            f"{place} cannot be used ({error.strerror or error}).",
            "Check the file, its permissions and the disk.",
        ) from error


@contextmanager
def _opened(reference: Reference, tell: Callable[[str], None]) -> Iterator[tuple[Path, str, str | None]]:
    """The folder in MLX format behind any reference, with a name for it and its revision."""
    if reference.kind == "builtin":
        with converted(builtin.find(), tell) as folder:
            yield folder, builtin.NAME, None
    elif reference.kind == "gguf":
        assert reference.path is not None
        with converted(reference.path, tell) as folder:
            yield folder, reference.path.stem, None
    elif reference.kind == "folder":
        assert reference.path is not None
        yield reference.path, reference.path.resolve().name, None
    else:
        from models import hub

        assert reference.repository is not None
        folder = hub.fetch(reference.repository, reference.revision, tell)
        yield folder, reference.repository.split("/")[1], folder.name


def _load_folder(
    reference: Reference,
    folder: Path,
    name: str,
    revision: str | None,
    dtype: str | None,
    tell: Callable[[str], None],
) -> Loaded:
    check(folder)
    # Only now: these import MLX and transformers.
    from mlx_spec.caches import parameter_bytes
    from models.tokenizer import load_tokenizer
    from models.weights import activation_dtype, load_weights, quantization

    # GGUF scales are float16 and its norms float32; one type for both keeps the activations in it.
    half = "float16" if reference.kind in ("builtin", "gguf") else None
    model, config = load_weights(folder, dtype, half)
    tokenizer = load_tokenizer(folder, config.get("eos_token_id"))
    info = Info(
        ref=reference.text,
        name=_STORAGE.sub("", name) or name,
        family=config["model_type"],
        context_length=_context_length(config, tell),
        vocab_size=_entry(config, "vocab_size") or len(tokenizer.get_vocab()),
        dtype=activation_dtype(model),
        quantization=quantization(model),
        nbytes=parameter_bytes(model),
        revision=revision,
    )
    return Loaded(model, tokenizer, info)


def _entry(config: dict[str, Any], key: str) -> int | None:
    """A size from a configuration, which multimodal models keep under `text_config`."""
    for part in (config, config.get("text_config")):
        if isinstance(part, dict) and isinstance(part.get(key), int) and part[key] > 0:
            return part[key]
    return None


def _context_length(config: dict[str, Any], tell: Callable[[str], None]) -> int:
    for key in _CONTEXT_KEYS:
        if (length := _entry(config, key)) is not None:
            return length
    tell(f"The model states no context length, so {UNSTATED_CONTEXT} tokens are used.")
    return UNSTATED_CONTEXT
