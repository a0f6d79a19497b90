"""The large files of a repository: fetched in pieces, so that a later run goes on after a cut."""

from __future__ import annotations

import errno
import hashlib
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import httpx2
from huggingface_hub import constants
from huggingface_hub.utils import WeakFileLock, build_hf_headers, get_session, hf_raise_for_status

from models.amount import in_bytes
from models.errors import ModelError, ModelMissing

Moved = Callable[[int, int, int], None]
"""Is told bytes that are here, bytes in all, and how many came just now; may raise to end it there."""

TRIES = 3  # in a row without a new byte
PAUSE = 1.0  # seconds between tries


class Download:
    """Some files, one after the other, and how far they are.

    A file is whole before it has its name: until then it is a `.part`, under a lock.
    """

    def __init__(self, repository: str, total: int, tell: Callable[[str], None], moved: Moved) -> None:
        """Args:
        repository: for the sentences.
        total: bytes of all files.
        tell: is told how far the download is, now and then.
        moved: is told so after each piece.
        """
        self._repository, self._total, self._tell, self._moved = repository, total, tell, moved
        self._done = 0  # bytes of finished files
        self._told = -1  # percent

    def file(self, name: str, url: str, size: int, digest: str, blobs: Path) -> None:
        """Fetch one file to `blobs / digest`, going on from what is there of it.

        Args:
            name: for the sentences.
            url: where it is.
            size: bytes that were promised.
            digest: SHA-256 that was promised, in hexadecimal.
            blobs: the folder.

        Raises:
            ModelMissing: the connection broke again and again without a new byte.
            ModelError: what came was damaged twice, there is no promise to check it by, or the disk is full.
            HfHubHTTPError: the hub refused.
        """
        if not re.fullmatch(r"[0-9a-f]{64}", digest):
            raise ModelError(f"The hub names no hash for {name}.", "Try another repository.")
        blob = blobs / digest
        part = blob.with_name(f"{digest}.part")
        if not blob.exists():
            blobs.mkdir(parents=True, exist_ok=True)
            with WeakFileLock(f"{part}.lock"):
                if not blob.exists() and not self._whole(url, part, size, digest):
                    self._tell(f"{name} came damaged. It is fetched again.")
                    if not self._whole(url, part, size, digest):
                        raise ModelError(
                            f"{name} of {self._repository} came damaged twice.",
                            "Try again later, or try another repository.",
                        )
                if part.exists():
                    part.replace(blob)
            Path(f"{part}.lock").unlink(missing_ok=True)
        self._done += size
        self._report(0)

    def _whole(self, url: str, part: Path, size: int, digest: str) -> bool:
        """Complete `part`; False, and no part, if what came is not what the hub promised."""
        tries, before = 0, -1
        while (have := _size(part)) < size:
            tries = 1 if have > before else tries + 1
            before = have
            self._report(have)
            try:
                self._stream(url, part, have, size)
            except OSError as error:
                if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                    raise
                raise ModelError(
                    f"The disk of {part.parent} is full: the download of {self._repository} stopped at "
                    f"{self._percent(_size(part))}%.",
                    "Free some room and fetch it again: it goes on from there.",
                ) from error
            except httpx2.TransportError as error:
                if tries >= TRIES:
                    raise ModelMissing(
                        f"The download of {self._repository} stopped at {self._percent(_size(part))}%.",
                        "Run the command again: it goes on from there.",
                    ) from error
                time.sleep(PAUSE)
        with part.open("rb") as file:
            same = have == size and hashlib.file_digest(file, "sha256").hexdigest() == digest
        if not same:
            part.unlink()
        return same

    def _stream(self, url: str, part: Path, have: int, size: int) -> None:
        """Go on with `part`, never beyond the promised size: a server may send without end."""
        headers = {**build_hf_headers(), "Accept-Encoding": "identity", "Range": f"bytes={have}-"}
        timeout = constants.HF_HUB_DOWNLOAD_TIMEOUT
        with get_session().stream(
            "GET", url, headers=headers, follow_redirects=True, timeout=timeout
        ) as response:
            if response.is_error:
                response.read()  # the explanation, which the exception quotes
            hf_raise_for_status(response)
            # A server that ignores the range sends everything again.
            resumed = response.status_code == 206
            written = have if resumed else 0
            with part.open("ab" if resumed else "wb") as file:
                # In the pieces that come: larger ones would be lost when the connection is.
                for chunk in response.iter_bytes():
                    taken = file.write(chunk[: size - written])
                    written += taken
                    self._report(written, taken)
                    if written == size:
                        break

    def _percent(self, bytes_of_file: int) -> int:
        return 100 * (self._done + bytes_of_file) // max(self._total, 1)

    def _report(self, bytes_of_file: int, came: int = 0) -> None:
        self._moved(self._done + bytes_of_file, self._total, came)
        percent = self._percent(bytes_of_file)
        if percent // 5 != self._told // 5:
            self._told = percent
            self._tell(f"Downloading {self._repository}: {percent}% of {self._total / 1e6:.1f} MB.")


def check_room(folder: Path, nbytes: int, repository: str) -> None:
    """Refuse a download before it begins, if the disk has no room for it.

    Raises:
        ModelError: there is not as much as `nbytes` more.
    """
    place = next(place for place in (folder, *folder.parents) if place.exists())
    free = shutil.disk_usage(place).free
    if nbytes > free:
        raise ModelError(
            f"There is no room for {repository}: {in_bytes(nbytes)} are to come, and the disk of {place} "
            f"has {in_bytes(free)}.",
            "Free some room there, or set HF_HUB_CACHE to a folder with more.",
        )


def here(blobs: Path, digest: str) -> int:
    """Bytes of a file that are in `blobs`, wholly or in part."""
    return _size(blobs / digest) or _size(blobs / f"{digest}.part")


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0
