"""The models of this machine and the download that runs, as one thing to ask: for a screen."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from models.errors import ModelError
from models.installed import Installed, describe, installed
from models.need import machine_memory
from models.offer import Offer, offer
from models.prospect import Prospect, prospect, this_chip
from models.pull import Pull
from models.reference import Reference
from models.sources import Source, sources

OVER = ("done", "failed", "paused")


class Stock:
    """What is here, what could come, and what is coming. `installed`, `sources` and `prospect` take a while.

    Attributes:
        memory: bytes of this machine.
        pull: the latest download, or None.
    """

    def __init__(self, named: Callable[[], Iterable[str]] = tuple, memory: float | None = None) -> None:
        """Args:
        named: references that the person has named anywhere, such as folders of earlier chats.
        memory: bytes; None asks the system.
        """
        self.memory = machine_memory() if memory is None else memory
        self.pull: Pull | None = None
        self._named = named

    def installed(self) -> list[Installed]:
        """All models that are here."""
        return installed(self._named())

    def to_fetch(self, ref: str) -> bool:
        """Whether `ref` names a hub repository that is not here."""
        try:
            return Reference.parse(ref).repository is not None and describe(ref) is None
        except ModelError:
            return False

    def sources(self, target: Installed, models: Iterable[Installed]) -> list[Source]:
        """What could draft for `target`."""
        return sources(target, models)

    def offers(self) -> list[Offer]:
        """Pairs that fit this machine's memory."""
        return offer(self.memory)

    def prospect(self, ref: str) -> Prospect:
        """What the hub tells of a model.

        Raises:
            ModelError: it is none, or cannot be reached.
        """
        return prospect(ref)

    def sentences(self, found: Prospect) -> list[str]:
        """What a person should know before the download."""
        return found.sentences(self.memory, this_chip())

    def fetch(self, *refs: str) -> Pull:
        """Start a download, or let the one of the same repositories go on.

        Raises:
            ModelError: another one runs, or one of them names no repository.
        """
        pull = self.pull
        if pull is None or pull.refs != refs:
            if pull is not None and pull.progress.state not in OVER:
                raise ModelError(f"{pull.progress.ref} is being downloaded.", "Pause it first.")
            self.pull = pull = Pull(*refs)
        pull.start()
        return pull

    def close(self) -> None:
        """Pause the download: what came stays."""
        if self.pull is not None:
            self.pull.close()
