"""Models from the hub: fetched once, in resumable pieces, and used without a network afterwards.

The files go into the hub client's own cache. Its downloads start over after a cut, so the weights are
fetched here: into a `.part` file that a later run goes on with, checked by their hash, and then put
where the client looks for them. The client fetches the small files and keeps the books.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import httpx2
from huggingface_hub import HfApi, constants, hf_hub_url, snapshot_download
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.file_download import repo_folder_name
from huggingface_hub.hf_api import RepoSibling
from huggingface_hub.utils import (
    WeakFileLock,
    build_hf_headers,
    disable_progress_bars,
    filter_repo_objects,
    get_session,
    hf_raise_for_status,
)

from models import folder as model_folder
from models.errors import ModelError, ModelMissing
from models.locations import hub_dir

# No *.py: code that comes with a model is never run, so it is not fetched either.
WANTED = [
    "model*.safetensors",
    "*.json",
    "*.jinja",
    "*.txt",
    "*.tiktoken",
    "tokenizer.model",
    "tiktoken.model",
]
TRIES = 3  # in a row without a new byte
PAUSE = 1.0  # seconds between tries

Tell = Callable[[str], None]

constants.HF_HUB_DISABLE_TELEMETRY = True


def fetch(repository: str, revision: str | None, tell: Tell) -> Path:
    """The folder of a hub repository's model, downloaded if it is not here or not whole.

    Args:
        repository: `org/name`.
        revision: branch, tag or commit; None for the main branch.
        tell: is told how far the download is.

    Returns:
        A folder named after the commit.

    Raises:
        ModelMissing: if there is no such repository or no way to reach it.
        ModelError: if what it sends is damaged, or no model that can be loaded.
    """
    kept = _kept(repository, revision)
    if kept is not None:
        try:
            model_folder.check(kept)
            return kept
        except model_folder.Damaged as damage:
            tell(f"{damage.message} It is fetched again.")
            _forget(damage.file)
        except ModelMissing as missing:
            tell(f"{missing.message} It is fetched.")
    try:
        _fetch_weights(repository, revision, tell)
        with disable_progress_bars():
            return Path(
                snapshot_download(
                    repository,
                    revision=revision,
                    cache_dir=hub_dir(),
                    allow_patterns=WANTED,
                    endpoint=_endpoint(),
                )
            )
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OfflineModeIsEnabled) as error:
        raise _explain(repository, revision, error) from error
    except httpx2.HTTPError as error:
        raise _unreachable(repository) from error


def _kept(repository: str, revision: str | None) -> Path | None:
    """What an earlier download left, without asking the network."""
    try:
        return Path(
            snapshot_download(
                repository,
                revision=revision,
                cache_dir=hub_dir(),
                allow_patterns=WANTED,
                local_files_only=True,
            )
        )
    except LocalEntryNotFoundError:
        return None
    except HFValidationError as error:
        raise _explain(repository, revision, error) from error


def _endpoint() -> str:
    return (os.environ.get("HF_ENDPOINT") or constants.ENDPOINT).rstrip("/")


def _forget(file: Path) -> None:
    """Remove a damaged file from the hub's cache: its entry in the snapshot, and what that points to."""
    target = file.resolve()
    file.unlink(missing_ok=True)
    target.unlink(missing_ok=True)


def _fetch_weights(repository: str, revision: str | None, tell: Tell) -> None:
    if constants.is_offline_mode():
        raise OfflineModeIsEnabled()
    facts = HfApi(endpoint=_endpoint()).model_info(repository, revision=revision, files_metadata=True)
    assert facts.sha is not None
    siblings = list(
        filter_repo_objects(
            facts.siblings or [], allow_patterns=WANTED, key=lambda sibling: sibling.rfilename
        )
    )
    if not any(sibling.rfilename.endswith(".safetensors") for sibling in siblings):
        raise ModelError(
            f"{repository} has no model*.safetensors, the only kind of weights that is fetched.",
            "Look for an MLX version of the model, for instance at mlx-community.",
        )
    blobs = hub_dir() / repo_folder_name(repo_id=repository, repo_type="model") / "blobs"
    large = [sibling for sibling in siblings if sibling.lfs is not None]
    download = _Download(repository, sum(sibling.lfs.size for sibling in large), tell)
    for sibling in large:
        download.file(sibling, facts.sha, blobs)


class _Download:
    """The large files of one repository, and how far they are."""

    def __init__(self, repository: str, total: int, tell: Tell) -> None:
        self.repository, self.total, self.tell = repository, total, tell
        self.done = 0  # bytes of finished files
        self.told = -1  # percent

    def file(self, sibling: RepoSibling, commit: str, blobs: Path) -> None:
        """Fetch one file into `blobs`, going on from what is there of it."""
        size, digest = sibling.lfs.size, sibling.lfs.sha256
        if not re.fullmatch(r"[0-9a-f]{64}", digest):
            raise ModelError(f"The hub names no hash for {sibling.rfilename}.", "Try another repository.")
        blob = blobs / digest
        part = blob.with_name(f"{digest}.part")
        if not blob.exists():
            blobs.mkdir(parents=True, exist_ok=True)
            url = hf_hub_url(self.repository, sibling.rfilename, revision=commit, endpoint=_endpoint())
            with WeakFileLock(f"{part}.lock"):
                if not blob.exists() and not self.whole(url, part, size, digest):
                    self.tell(f"{sibling.rfilename} came damaged. It is fetched again.")
                    if not self.whole(url, part, size, digest):
                        raise ModelError(
                            f"{sibling.rfilename} of {self.repository} came damaged twice.",
                            "Try again later, or try another repository.",
                        )
                if part.exists():
                    part.replace(blob)
            Path(f"{part}.lock").unlink(missing_ok=True)
        self.done += size
        self.report(0)

    def whole(self, url: str, part: Path, size: int, digest: str) -> bool:
        """Complete `part`; False, and no part, if what came is not what the hub promised."""
        tries, before = 0, -1
        while (have := _size(part)) < size:
            tries = 1 if have > before else tries + 1
            before = have
            try:
                self.stream(url, part, have)
            except httpx2.TransportError as error:
                if tries >= TRIES:
                    raise ModelMissing(
                        f"The download of {self.repository} stopped at {self.percent(_size(part))}%.",
                        "Run the command again: it goes on from there.",
                    ) from error
                time.sleep(PAUSE)
        with part.open("rb") as file:
            same = have == size and hashlib.file_digest(file, "sha256").hexdigest() == digest
        if not same:
            part.unlink()
        return same

    def stream(self, url: str, part: Path, have: int) -> None:
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
                    file.write(chunk)
                    written += len(chunk)
                    self.report(written)

    def percent(self, bytes_of_file: int) -> int:
        return 100 * (self.done + bytes_of_file) // max(self.total, 1)

    def report(self, bytes_of_file: int) -> None:
        percent = self.percent(bytes_of_file)
        if percent // 5 != self.told // 5:
            self.told = percent
            self.tell(f"Downloading {self.repository}: {percent}% of {self.total / 1e6:.1f} MB.")


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def _explain(repository: str, revision: str | None, error: Exception) -> ModelError:
    page = f"{_endpoint()}/{repository}"
    if isinstance(error, GatedRepoError):
        return ModelMissing(
            f"{repository} is open only to those who accepted its terms.",
            f"Accept them at {page} and run `hf auth login`.",
        )
    if isinstance(error, RevisionNotFoundError):
        return ModelMissing(f"{repository} has no revision {revision}.", f"Look for one at {page}.")
    if isinstance(error, RepositoryNotFoundError):
        return ModelMissing(
            f"The hub has no repository {repository}, or it is private.",
            "Check the name; for a private one run `hf auth login`.",
        )
    if isinstance(error, HFValidationError):
        return ModelMissing(f"{repository} cannot be the name of a repository.", "Name it as org/name.")
    if isinstance(error, OfflineModeIsEnabled):
        return ModelMissing(
            f"{repository} is not on this machine and HF_HUB_OFFLINE forbids to fetch it.",
            "Unset HF_HUB_OFFLINE, or use --model builtin.",
        )
    if isinstance(error, HfHubHTTPError):
        return ModelMissing(
            f"The hub answered with status {error.response.status_code} for {repository}.", "Try again later."
        )
    return _unreachable(repository)


def _unreachable(repository: str) -> ModelMissing:
    return ModelMissing(
        f"{repository} is not on this machine and {_endpoint()} cannot be reached.",
        "Connect to the network and try again, or use --model builtin.",
    )
