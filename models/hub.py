"""Models from the hub: fetched once, in resumable pieces, and used without a network afterwards.

The files go into the hub client's own cache. Its downloads start over after a cut, so the weights are
fetched by `models.download` and put where the client looks for them. The client fetches the small
files and keeps the books.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
from huggingface_hub.utils import (
    build_hf_headers,
    disable_progress_bars,
    filter_repo_objects,
    get_session,
    hf_raise_for_status,
)

from models import folder as model_folder
from models.download import Download, Moved, check_room, here
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

Tell = Callable[[str], None]

constants.HF_HUB_DISABLE_TELEMETRY = True


@dataclass(frozen=True)
class Listing:
    """What a repository holds of a model, before anything of it is fetched.

    Attributes:
        repository: `org/name`.
        commit: that its revision stands for now.
        weights: bytes of its weights.
        total: bytes of its large files, the weights among them.
        missing: those of them that are not here yet.
        config: of the model; None if it has none that can be read.
    """

    repository: str
    commit: str
    weights: int
    total: int
    missing: int
    config: dict[str, Any] | None


def look(repository: str, revision: str | None) -> Listing:
    """Ask the hub how large a model is. Nothing is kept.

    Raises:
        ModelMissing: if there is no such repository or no way to reach it.
        ModelError: if it has no weights that are fetched.
    """
    with _explained(repository, revision):
        commit, large = _large_files(repository, revision)
        blobs = _blobs(repository)
        return Listing(
            repository,
            commit,
            sum(each.lfs.size for each in large if each.rfilename.endswith(".safetensors")),
            sum(each.lfs.size for each in large),
            sum(each.lfs.size - here(blobs, each.lfs.sha256) for each in large),
            _config(repository, commit),
        )


def _config(repository: str, commit: str) -> dict[str, Any] | None:
    url = hf_hub_url(repository, "config.json", revision=commit, endpoint=_endpoint())
    data = b""
    with get_session().stream(
        "GET", url, headers=build_hf_headers(), follow_redirects=True, timeout=constants.HF_HUB_ETAG_TIMEOUT
    ) as response:
        if response.status_code == 404:
            return None
        hf_raise_for_status(response)
        for chunk in response.iter_bytes():
            data += chunk
            if len(data) > model_folder.MAX_JSON:
                return None
    try:
        config = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return config if isinstance(config, dict) else None


def fetch(
    repository: str, revision: str | None, tell: Tell, moved: Moved = lambda here, total, came: None
) -> Path:
    """The folder of a hub repository's model, downloaded if it is not here or not whole.

    Args:
        repository: `org/name`.
        revision: branch, tag or commit; None for the main branch.
        tell: is told how far the download is.
        moved: is told so in bytes, after each piece of a large file; may raise to pause the download there.

    Returns:
        A folder named after the commit.

    Raises:
        ModelMissing: if there is no such repository or no way to reach it.
        ModelError: if what it sends is damaged, or no model that can be loaded.
    """
    whole = kept(repository, revision)
    if whole is not None:
        try:
            model_folder.check(whole)
            return whole
        except model_folder.Damaged as damage:
            tell(f"{damage.message} It is fetched again.")
            _forget(damage.file)
        except ModelMissing as missing:
            tell(f"{missing.message} It is fetched.")
    with _explained(repository, revision):
        _fetch_weights(repository, revision, tell, moved)
        with disable_progress_bars():
            return _snapshot(repository, revision)


@contextmanager
def _explained(repository: str, revision: str | None) -> Iterator[None]:
    """What the client says when it fails, in sentences."""
    try:
        yield
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OfflineModeIsEnabled) as error:
        raise _explain(repository, revision, error) from error
    except httpx2.HTTPError as error:
        raise _unreachable(repository) from error


def kept(repository: str, revision: str | None) -> Path | None:
    """What an earlier download left, without asking the network."""
    try:
        return _snapshot(repository, revision, local_files_only=True)
    except LocalEntryNotFoundError:
        return None
    except HFValidationError as error:
        raise _explain(repository, revision, error) from error


def _snapshot(repository: str, revision: str | None, *, local_files_only: bool = False) -> Path:
    """The client's own folder of the repository's files; it fetches what is not there yet."""
    return Path(
        snapshot_download(
            repository,
            revision=revision,
            cache_dir=hub_dir(),
            allow_patterns=WANTED,
            endpoint=_endpoint(),
            local_files_only=local_files_only,
        )
    )


def _endpoint() -> str:
    return (os.environ.get("HF_ENDPOINT") or constants.ENDPOINT).rstrip("/")


def _forget(file: Path) -> None:
    """Remove a damaged file from the hub's cache: its entry in the snapshot, and what that points to."""
    target = file.resolve()
    file.unlink(missing_ok=True)
    target.unlink(missing_ok=True)


def _blobs(repository: str) -> Path:
    return hub_dir() / repo_folder_name(repo_id=repository, repo_type="model") / "blobs"


def _large_files(repository: str, revision: str | None) -> tuple[str, Sequence[Any]]:
    """The commit of a revision, and what the hub keeps by hash of what is wanted of it."""
    if constants.is_offline_mode():
        raise OfflineModeIsEnabled()
    facts = HfApi(endpoint=_endpoint()).model_info(
        repository, revision=revision, files_metadata=True, timeout=constants.HF_HUB_ETAG_TIMEOUT
    )
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
    return facts.sha, [sibling for sibling in siblings if sibling.lfs is not None]


def _fetch_weights(repository: str, revision: str | None, tell: Tell, moved: Moved) -> None:
    commit, large = _large_files(repository, revision)
    blobs = _blobs(repository)
    check_room(blobs, sum(each.lfs.size - here(blobs, each.lfs.sha256) for each in large), repository)
    download = Download(repository, sum(each.lfs.size for each in large), tell, moved)
    for each in large:
        name, lfs = each.rfilename, each.lfs
        url = hf_hub_url(repository, name, revision=commit, endpoint=_endpoint())
        download.file(name, url, lfs.size, lfs.sha256, blobs)


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
