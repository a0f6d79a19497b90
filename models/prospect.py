"""A model on the hub before it is fetched: what it weighs, what it needs here, and what is not known."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from models.amount import in_bytes
from models.curves import Chip
from models.errors import ModelError
from models.installed import loads
from models.need import Need, need
from models.plan import plain_seconds
from models.reference import Reference
from models.size import Size, size_by

if TYPE_CHECKING:
    from models.hub import Listing


@dataclass(frozen=True)
class Prospect:
    """What is known of a model that is not here.

    Attributes:
        ref: as it was named.
        missing: bytes to download yet.
        size: of the model; None if its configuration does not tell.
        problem: why it could not be loaded, a sentence; empty if nothing speaks against it.
    """

    ref: str
    missing: int
    size: Size | None
    problem: str = ""

    @property
    def need(self) -> Need | None:
        """Of it alone, in memory."""
        return need([self.size]) if self.size else None

    def sentences(self, memory: float, chip: Chip | None = None) -> list[str]:
        """What a person should know before the download.

        Args:
            memory: bytes of this machine.
            chip: of this machine; None if it is not one that anything is known of.
        """
        download = f"{in_bytes(self.missing)} to download." if self.missing else "All of it is here already."
        found = [download]
        if self.problem:
            found.append(self.problem)
        found.append(self.need.sentence(memory) if self.need else "What it needs in memory is not known.")
        if self.size and chip and not self.size.experts:
            rate = plain_seconds(self.size.read, chip)
            found.append(
                f"Plain decoding on an {chip.name}: {1 / rate.high:.0f} to {1 / rate.low:.0f} tokens/s "
                "expected, not measured."
            )
        return found


def prospect(ref: str) -> Prospect:
    """Ask the hub about a repository. Takes a while: not for the UI's thread.

    Raises:
        ModelError: it is none, cannot be reached, or has no weights that can be fetched.
    """
    # Only now: the hub's client takes a while to import.
    from models import hub

    reference = Reference.parse(ref)
    if reference.repository is None:
        raise ModelError(f"{ref} is on this machine.", "Choose it in the list.")
    return of_listing(ref, hub.look(reference.repository, reference.revision))


def of_listing(ref: str, listing: Listing) -> Prospect:
    """What a repository's list of files and its configuration tell."""
    config = listing.config
    if config is None:
        return Prospect(ref, listing.missing, None, "It has no config.json that can be read.")
    family = str(config.get("model_type") or "")
    if config.get("model_file") is not None:
        problem = "Its config.json asks to run code that comes with it, which is never done."
    elif not loads(family):
        problem = f"mlx-lm has no model type {family[:40] or 'for it'}."
    else:
        problem = ""
    name = listing.repository.split("/")[1]
    try:
        size: Size | None = size_by(config, {"weights": listing.weights}, name, "by the hub's list of files")
    except ModelError:
        size = None
    return Prospect(ref, listing.missing, size, problem)


@cache
def this_chip() -> Chip | None:
    """This Mac's chip, if anything is known of it."""
    if sys.platform != "darwin":
        return None
    try:
        told = subprocess.run(
            ["sysctl", "-n", "machdep.cpu.brand_string"],
            capture_output=True,
            text=True,
            timeout=2,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return Chip.parse(told.stdout.strip())
