"""A download runs by itself, says how far it is, pauses, and goes on after anything that ended it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest
from hub_server import Hub, serve
from tiny import save_tiny, tiny_config, tiny_loaded

from models import ModelError, ModelMissing, hub, load
from models.installed import installed
from models.pull import Progress, Pull

REPOSITORY = "someone/tiny-llama"
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    monkeypatch.setattr("models.download.PAUSE", 0.01)
    folder = save_tiny(tmp_path / "repository", tiny_loaded(), tiny_config())
    with serve({REPOSITORY: folder}) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        yield hub


@pytest.fixture
def pull() -> Iterator[Pull]:
    one = Pull(REPOSITORY)
    yield one
    one.close()


def until(found: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not found():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def size(server: Hub) -> int:
    return (server.repositories[REPOSITORY] / "model.safetensors").stat().st_size


def weights_asked(server: Hub) -> list[str | None]:
    return [
        span for method, path, span in server.requests if method == "GET" and path.endswith("safetensors")
    ]


def test_it_fetches_a_model_and_says_how_far_it_is(server: Hub, pull: Pull) -> None:
    server.pace = 0.01
    assert pull.progress == Progress("paused", REPOSITORY)
    pull.start()
    until(lambda: 0 < pull.progress.share < 1)
    now = pull.progress
    assert (now.state, now.total) == ("running", size(server))
    assert now.left is None or now.left > 0
    until(lambda: not pull.active)
    assert (pull.progress.state, pull.progress.here) == ("done", size(server))
    assert pull.progress.words == "100% of 389 KB"
    assert load(REPOSITORY).info.revision == server.commit


def test_a_pause_keeps_what_came_and_a_start_goes_on_from_there(server: Hub, pull: Pull, home: Path) -> None:
    server.pace = 0.01
    pull.start()
    until(lambda: pull.progress.share > 0.2)
    pull.pause()
    assert pull.progress.state in ("pausing", "paused")
    until(lambda: pull.progress.state == "paused")
    (part,) = home.glob("hub/*/blobs/*.part")
    have = part.stat().st_size
    assert have == pull.progress.here
    assert 0 < have < size(server)
    assert [(model.ref, model.part) for model in installed() if model.part] == [(REPOSITORY, have)]
    server.pace = 0.0
    server.requests.clear()
    pull.start()
    until(lambda: pull.progress.state == "done")
    assert weights_asked(server) == [f"bytes={have}-"]


def test_a_start_right_after_a_pause_goes_on(server: Hub, pull: Pull) -> None:
    server.pace = 0.005
    pull.start()
    until(lambda: pull.progress.share > 0.1)
    for _ in range(3):
        pull.pause()
        pull.start()
    until(lambda: pull.progress.state == "done")


def test_after_a_kill_the_next_process_goes_on_from_there(server: Hub, pull: Pull, home: Path) -> None:
    server.pace = 0.03
    code = (
        "import sys, time\nfrom models.pull import Pull\n"
        f"pull = Pull({REPOSITORY!r})\npull.start()\n"
        "while pull.progress.share < 0.2: time.sleep(0.01)\n"
        "print('enough', flush=True)\ntime.sleep(60)"
    )
    child = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, env=os.environ)
    assert child.stdout is not None
    child.stdout.readline()
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    (part,) = home.glob("hub/*/blobs/*.part")
    have = part.stat().st_size
    assert 0 < have < size(server)
    server.pace = 0.0
    server.requests.clear()
    pull.start()
    until(lambda: pull.progress.state == "done")
    assert weights_asked(server) == [f"bytes={have}-"]
    prompt = mx.array([[5, 6, 7]])
    assert mx.array_equal(load(REPOSITORY).model(prompt), tiny_loaded().model(prompt)).item()


def test_a_hub_that_cannot_be_reached_is_a_sentence_and_a_start_tries_again(
    server: Hub, pull: Pull, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    pull.start()
    until(lambda: pull.progress.state == "failed")
    assert "cannot be reached" in pull.progress.message
    assert pull.progress.next_step
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    pull.start()
    until(lambda: pull.progress.state == "done")
    assert pull.progress.message == ""


def test_offline_mode_is_a_sentence(server: Hub, pull: Pull, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    pull.start()
    until(lambda: pull.progress.state == "failed")
    assert "HF_HUB_OFFLINE" in pull.progress.message


def test_a_disk_without_room_is_a_sentence_before_anything_is_fetched(
    server: Hub, pull: Pull, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage("/")
    monkeypatch.setattr(shutil, "disk_usage", lambda place: usage._replace(free=1000))
    pull.start()
    until(lambda: pull.progress.state == "failed")
    assert pull.progress.message.startswith(f"There is no room for {REPOSITORY}: 389 KB are to come")
    assert weights_asked(server) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
def test_a_disk_that_fills_up_is_a_sentence(server: Hub, pull: Pull, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Path.open

    def full(path: Path, *args: Any, **rest: Any) -> Any:
        return opened(Path("/dev/full") if path.suffix == ".part" else path, *args, **rest)

    monkeypatch.setattr(Path, "open", full)
    pull.start()
    until(lambda: pull.progress.state == "failed")
    assert "is full" in pull.progress.message
    assert "goes on from there" in pull.progress.next_step


def test_a_pair_comes_one_after_the_other_and_what_is_here_is_not_asked_for_again(server: Hub) -> None:
    server.repositories["someone/draft"] = server.repositories[REPOSITORY]
    load(REPOSITORY)
    server.requests.clear()
    pair = Pull(REPOSITORY, "someone/draft")
    pair.start()
    until(lambda: pair.progress.state == "done")
    assert pair.progress.ref == "someone/draft"
    assert [model.ref for model in installed() if model.kind == "hub"] == ["someone/draft", REPOSITORY]
    assert all("someone/draft" in path for _, path, _ in server.requests)


def test_what_is_no_repository_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing):
        Pull("nothing-of-that-name")
    with pytest.raises(ModelError, match="is on this machine"):
        Pull(str(tmp_path))


def test_the_rate_is_that_of_the_last_seconds_whatever_was_here_before() -> None:
    now = 0.0
    pull = Pull(REPOSITORY, clock=lambda: now)
    pull._wanted.set()
    pull._moved(int(2e9), int(4e9), 0)  # the first file was here
    here = int(3e9)  # and half of the second
    pull._moved(here, int(4e9), 0)
    for second in range(1, 31):
        now = float(second)
        came = int(10e6) if second <= 15 else int(1e6)
        here += came
        pull._moved(here, int(4e9), came)
        if second == 1:
            assert pull.progress.rate == pytest.approx(10e6)
    assert pull.progress.rate == pytest.approx(1e6)
    assert pull.progress.words == "79% of 4.0 GB · 1.0 MB/s · 14 min left"


def test_what_is_not_whole_is_never_all() -> None:
    assert Progress("running", REPOSITORY, 999, 1000, 10.0).words == "99% of 1.0 KB · 10 bytes/s · 0 s left"


def test_the_hub_is_asked_how_large_a_model_is_and_nothing_is_kept(server: Hub, home: Path) -> None:
    found = hub.look(REPOSITORY, None)
    assert (found.weights, found.missing) == (size(server), size(server))
    assert found.config is not None
    assert found.config["model_type"] == "llama"
    assert not home.exists()
    assert weights_asked(server) == []
    with pytest.raises(ModelMissing):
        hub.look("someone/else", None)
