"""Models from the hub: fetched once, in resumable pieces, and used without a network afterwards.

The files go into the hub client's own cache. Its downloads start over after a cut, so the weights are
fetched by `models.download` and put where the client looks for them. The client fetches the small
files and keeps the books.
"""

from __future__ import annotations

import os
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
from huggingface_hub.utils import disable_progress_bars, filter_repo_objects

from models import folder as model_folder
from models.download import Download
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
    here = kept(repository, revision)
    if here is not None:
        try:
            model_folder.check(here)
            return here
        except model_folder.Damaged as damage:
            tell(f"{damage.message} It is fetched again.")
            _forget(damage.file)
        except ModelMissing as missing:
            tell(f"{missing.message} It is fetched.")
    try:
        _fetch_weights(repository, revision, tell)
        with disable_progress_bars():
            return _snapshot(repository, revision)
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
    download = Download(repository, sum(sibling.lfs.size for sibling in large), tell)
    for sibling in large:
        name, lfs = sibling.rfilename, sibling.lfs
        url = hf_hub_url(repository, name, revision=facts.sha, endpoint=_endpoint())
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
