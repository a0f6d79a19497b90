"""A hub repository is fetched once, goes on after a cut, and needs no network afterwards."""

from collections.abc import Iterator
from pathlib import Path

import mlx.core as mx
import pytest
from hub_server import Hub, serve
from tiny import save_tiny, tiny_config, tiny_loaded

from models import ModelError, ModelMissing, load

REPOSITORY = "someone/tiny-llama"
PROMPT = mx.array([[5, 6, 7]])


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    monkeypatch.setattr("models.download.PAUSE", 0.01)
    folder = save_tiny(tmp_path / "repository", tiny_loaded(), tiny_config())
    (folder / "code.py").write_text("raise SystemExit")
    (folder / "pytorch_model.bin").write_bytes(b"pickle")
    with serve({REPOSITORY: folder}) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        yield hub


def weight_ranges(hub: Hub) -> list[str | None]:
    return [span for method, path, span in hub.requests if method == "GET" and path.endswith(".safetensors")]


def test_it_is_fetched_with_progress_and_pinned(hub: Hub) -> None:
    said: list[str] = []
    loaded = load(REPOSITORY, progress=said.append)
    assert mx.array_equal(loaded.model(PROMPT), tiny_loaded().model(PROMPT)).item()
    assert (loaded.info.name, loaded.info.revision) == ("tiny-llama", hub.commit)
    assert said[-1] == f"Downloading {REPOSITORY}: 100% of 0.4 MB."


def test_only_what_a_model_needs_is_asked_for(hub: Hub) -> None:
    load(REPOSITORY)
    asked = [path for _, path, _ in hub.requests]
    assert not [path for path in asked if path.endswith((".py", ".bin"))]
    assert all(path.startswith((f"/api/models/{REPOSITORY}", f"/{REPOSITORY}/resolve/")) for path in asked)


def test_the_second_load_asks_nothing(hub: Hub) -> None:
    load(REPOSITORY)
    hub.status = 500
    hub.requests.clear()
    said: list[str] = []
    assert load(REPOSITORY, progress=said.append).info.revision == hub.commit
    assert (hub.requests, said) == ([], [])


def test_a_pinned_commit_is_loaded_offline_too(hub: Hub) -> None:
    load(f"{REPOSITORY}@{hub.commit}")
    hub.status = 500
    assert load(f"{REPOSITORY}@{hub.commit}").info.revision == hub.commit


def test_a_download_cut_at_60_percent_goes_on_from_there(
    hub: Hub, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = (hub.repositories[REPOSITORY] / "model.safetensors").stat().st_size
    hub.cut = size * 6 // 10
    monkeypatch.setattr("models.download.TRIES", 1)
    with pytest.raises(ModelMissing, match=r"stopped at \d+%") as stopped:
        load(REPOSITORY)
    assert "goes on" in stopped.value.next_step
    (part,) = home.glob("hub/*/blobs/*.part")
    have = part.stat().st_size
    assert 0 < have < size
    hub.cut = None
    hub.requests.clear()
    assert mx.array_equal(load(REPOSITORY).model(PROMPT), tiny_loaded().model(PROMPT)).item()
    assert weight_ranges(hub) == [f"bytes={have}-"]
    assert not list(home.glob("hub/*/blobs/*.part*"))


def test_short_cuts_are_bridged_in_one_run(hub: Hub) -> None:
    hub.cut = (hub.repositories[REPOSITORY] / "model.safetensors").stat().st_size // 4
    load(REPOSITORY)
    assert len(weight_ranges(hub)) >= 4


def test_a_file_that_comes_damaged_is_named_and_fetched_again(hub: Hub) -> None:
    hub.spoil = 1
    said: list[str] = []
    load(REPOSITORY, progress=said.append)
    assert any(sentence.startswith("model.safetensors came damaged") for sentence in said)
    assert len(weight_ranges(hub)) == 2


def test_a_file_that_comes_damaged_twice_is_an_error(hub: Hub) -> None:
    hub.spoil = 2
    with pytest.raises(ModelError, match="damaged twice"):
        load(REPOSITORY)


def test_no_more_is_written_than_was_promised(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    (size,) = (file["size"] for file in hub.entries(REPOSITORY) if "lfs" in file)
    hub.more = 1 << 20
    written: list[int] = []
    monkeypatch.setattr("models.download.Download._report", lambda self, at, came=0: written.append(at))
    assert mx.array_equal(load(REPOSITORY).model(PROMPT), tiny_loaded().model(PROMPT)).item()
    assert max(written) == size
    assert len(weight_ranges(hub)) == 1


def test_a_kept_file_that_was_cut_is_named_and_fetched_again(hub: Hub, home: Path) -> None:
    load(REPOSITORY)
    (weights,) = home.glob("hub/*/snapshots/*/model.safetensors")
    target = weights.resolve()
    target.write_bytes(target.read_bytes()[:5000])
    said: list[str] = []
    loaded = load(REPOSITORY, progress=said.append)
    assert "model.safetensors is damaged" in said[0]
    assert mx.array_equal(loaded.model(PROMPT), tiny_loaded().model(PROMPT)).item()


def test_an_unknown_repository_is_one_sentence(hub: Hub) -> None:
    with pytest.raises(ModelMissing, match="no repository someone/else"):
        load("someone/else")


def test_an_unknown_revision_is_one_sentence(hub: Hub) -> None:
    with pytest.raises(ModelMissing, match="no revision v9"):
        load(f"{REPOSITORY}@v9")


def test_a_gated_repository_says_where_to_accept(hub: Hub) -> None:
    hub.status, hub.error_code = 401, "GatedRepo"
    with pytest.raises(ModelMissing, match="terms") as gated:
        load(REPOSITORY)
    assert f"{hub.url}/{REPOSITORY}" in gated.value.next_step


def test_a_hub_in_trouble_is_one_sentence(hub: Hub) -> None:
    hub.status = 503
    with pytest.raises(ModelMissing, match="status 503"):
        load(REPOSITORY)


def test_no_network_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(ModelMissing, match="cannot be reached") as missing:
        load(REPOSITORY)
    assert "builtin" in missing.value.next_step


def test_weights_that_are_refused_are_one_sentence(hub: Hub) -> None:
    hub.weights_status = 503
    with pytest.raises(ModelMissing, match="status 503"):
        load(REPOSITORY)


def test_a_repository_without_safetensors_is_refused(hub: Hub) -> None:
    (hub.repositories[REPOSITORY] / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="no model") as refusal:
        load(REPOSITORY)
    assert "mlx-community" in refusal.value.next_step


def test_offline_mode_is_respected(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ModelMissing, match="HF_HUB_OFFLINE"):
        load(REPOSITORY)
    assert hub.requests == []


def test_a_token_is_sent_only_if_the_user_has_one(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", "/nonexistent")
    load(REPOSITORY)
    assert hub.tokens == {None}
    hub.repositories["someone/other"] = hub.repositories[REPOSITORY]
    monkeypatch.setenv("HF_TOKEN", "hf_mine")
    load("someone/other")
    assert "Bearer hf_mine" in hub.tokens
