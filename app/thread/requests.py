"""What other threads ask of the engine thread. Each can be stopped while it is under way."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from mlx_spec.errors import SpecError

if TYPE_CHECKING:
    from app.assistant.template import Message
    from app.settings.settings import Settings


@dataclass
class Request:
    """An answer to some messages."""

    messages: Sequence[Message]
    context_full: str
    stopped: threading.Event = field(default_factory=threading.Event)


@dataclass
class Retune:
    """Another K or draft source for the same target.

    Attributes:
        changes: of the settings.
        speculation: on or off; None leaves it.
    """

    changes: dict[str, Any]
    speculation: bool | None
    stopped: threading.Event = field(default_factory=threading.Event)

    def applied(self, settings: Settings, k_when_on: int | str) -> Settings:
        """The settings with this change.

        Args:
            settings: of now.
            k_when_on: what speculation comes back to.

        Raises:
            SpecError: there would be nothing to speculate with.
        """
        changed = replace(settings, **self.changes)
        if self.speculation is None:
            return changed
        if self.speculation and changed.draft == "none":
            raise SpecError("There is no draft source to speculate with.", "Choose one, such as lookup.")
        return replace(changed, k=k_when_on if self.speculation else 0)


@dataclass
class Switch:
    """Another pair."""

    settings: Settings
    stopped: threading.Event = field(default_factory=threading.Event)
