"""The chat template of a model: from messages to the tokens of a prompt; and the model's own markers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from app.thinking import Markers
from mlx_spec.text import REPLACEMENT
from models.errors import ModelError

_TAIL = 32  # tokens at the end of a prompt among which thinking may be opened
_MARKER = re.compile(r"<\S+>|\[\S+\]")


@dataclass(frozen=True)
class Message:
    """One turn of a conversation.

    Attributes:
        role: whose it is.
        content: its text.
        tokens: of an unfinished answer, as the model emitted them; empty if they are not known.
    """

    role: Literal["system", "user", "assistant"]
    content: str
    tokens: tuple[int, ...] = ()


class Template:
    """Renders conversations for one model."""

    def __init__(self, tokenizer: Any, system: str | None) -> None:
        """Args:
        tokenizer: of the target.
        system: the system prompt of conversations without one; None leaves it to the template.
        """
        self._tokenizer = tokenizer
        self._system = system

    def tokens(self, messages: Sequence[Message]) -> list[int]:
        """The token ids of a conversation by the model's chat template, or of its bare text without one.

        An assistant's message at the end is an unfinished answer, to be gone on with: its tokens come
        after the prompt that it answers, which is what the model saw when it wrote them, whatever the
        template does with answers.

        Args:
            messages: at least one that is not an unfinished answer.

        Raises:
            ModelError: the template refuses the conversation.
        """
        if messages[-1].role == "assistant":
            *before, unfinished = messages
            prompt = self.tokens(before)
            return prompt + self._emitted(unfinished, self.markers(prompt).opener)
        if self._system is not None and messages[0].role != "system":
            messages = [Message("system", self._system), *messages]
        if not self._tokenizer.has_chat_template:
            return list(self._tokenizer.encode("\n".join(message.content for message in messages)))

        from models.tokenizer import render_chat

        turns = [{"role": message.role, "content": message.content} for message in messages]
        try:
            return render_chat(self._tokenizer, turns)
        except ModelError as error:
            if self._system is None:
                raise
            raise ModelError(error.message, "Try without a system prompt.") from error

    def _emitted(self, answer: Message, opener: str) -> list[int]:
        """The tokens of an unfinished answer: its own, unless they say anything but its text.

        They may be those of another model, or end within a character, which was not shown.
        """
        text = answer.content.removeprefix(opener)
        tokens = list(answer.tokens)
        while tokens and self._tokenizer.decode(tokens).endswith(REPLACEMENT) and text[-1:] != REPLACEMENT:
            tokens.pop()
        if tokens and self._tokenizer.decode(tokens).lstrip() == text.lstrip():
            return tokens
        return list(self._tokenizer.encode(text, add_special_tokens=False))

    def markers(self, prompt: Sequence[int]) -> Markers:
        """The markers around the thinking of an answer to `prompt`, given as tokens."""
        known = self._tokenizer.has_thinking
        markers = Markers(self._tokenizer.think_start, self._tokenizer.think_end) if known else Markers()
        return markers.after(self._tokenizer.decode(list(prompt[-_TAIL:])))

    def markers_in(self, text: str) -> list[str]:
        """The model's own control markers in a text: its tokenizer makes control tokens of them."""
        added = self._tokenizer.added_tokens_decoder.values()
        names = {token.content for token in added if token.special or _MARKER.fullmatch(token.content)}
        return sorted(name for name in names if name in text)
