"""The tokenizer of a model folder, and its chat template."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2.exceptions import TemplateError
from mlx_lm.tokenizer_utils import TokenizerWrapper
from mlx_lm.utils import load_tokenizer as load_with_mlx_lm

from models.errors import ModelError, first_line


def load_tokenizer(folder: Path, eos_token_ids: Any) -> TokenizerWrapper:
    """Load the tokenizer of a checked folder. Never runs code from it, never asks the network.

    Args:
        folder: that `models.folder.check` found whole.
        eos_token_ids: the model's end tokens: an id, a list of ids, or None for the tokenizer's own.

    Raises:
        ModelError: if transformers cannot make a tokenizer of the files.
    """
    safe = {"trust_remote_code": False, "local_files_only": True}
    try:
        return load_with_mlx_lm(folder, safe, eos_token_ids=eos_token_ids)
    except Exception as error:
        # The tokenizers library raises plain Exception for a file that it cannot read.
        raise ModelError(
            f"The tokenizer in {folder} cannot be loaded ({first_line(error)}).",
            "Fetch the model again, or use a version with a tokenizer.json.",
        ) from error


def render_chat(tokenizer: TokenizerWrapper, messages: Sequence[dict[str, str]], **options: Any) -> list[int]:
    """The token ids of a conversation, ready for the model's answer.

    The template comes with the model and is run in jinja's sandbox by transformers.

    Args:
        tokenizer: with a chat template.
        messages: `role` and `content` each.
        options: variables of the template, such as `enable_thinking`.

    Raises:
        ModelError: if the template refuses the conversation or does what the sandbox forbids.
    """
    try:
        return tokenizer.apply_chat_template(list(messages), add_generation_prompt=True, **options)
    except (TemplateError, TypeError, ValueError, LookupError, ArithmeticError, AttributeError) as error:
        raise ModelError(
            f"The model's chat template failed ({first_line(error)}).",
            "Use another model, or one with a repaired template.",
        ) from error
