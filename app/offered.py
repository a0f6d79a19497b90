"""Whether a better pair was offered already: once, whatever the answer."""

from __future__ import annotations

from models import locations


def first_time() -> bool:
    """Whether nobody asked this before, on this machine; from now on it is False.

    Where that cannot be kept, nothing is offered: better never than at each start.
    """
    file = locations.data_dir() / "offered"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.open("x").close()  # of several processes that ask, one makes it
    except OSError:
        return False
    return True
