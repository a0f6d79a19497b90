"""`specchat bench` through the command line, on a tiny model."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from readable import READABLE, without_ends
from tiny import save_tiny, tiny_config, tiny_loaded, tiny_model, tiny_tokenizer

import models
from bench import measure
from bench import prompts as sets
from bench.design import Turn
from models.loaded import Info, Loaded

ROOT = Path(__file__).resolve().parents[3]
QUICKLY = ("bench", "--ks", "1,2", "--tokens", "12", "--count", "4")


@pytest.fixture(autouse=True)
def small_heap() -> Iterator[None]:
    """Garbage is collected before every run; what the test session has loaded need not be looked through."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def without_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "textual", raising=False)


@pytest.fixture(autouse=True)
def short_prompts(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [
        {
            "id": f"p{i}",
            "class": "copy" if i % 2 else "chat",
            "prompt": "the cat and the dog the cat " * (i + 1),
        }
        for i in range(4)
    ]
    monkeypatch.setattr(sets, "builtin", lambda: sets.collect("tiny", entries))


@pytest.fixture
def target(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(measure, "REST", 0.05)
    loaded = without_ends(tiny_loaded("llama", vocab=READABLE, seed=6))
    monkeypatch.setattr(models, "load", lambda ref, dtype=None, progress=None: loaded)
    monkeypatch.setattr(
        "app.assistant.template.Template.tokens",
        lambda self, messages: [
            3 if c == " " else ord(c) - ord("a") + 4 for c in messages[-1].content if c == " " or c.islower()
        ],
    )
    return loaded


def test_a_sweep_says_how_long_it_takes_and_ends_with_a_table(specchat: Any, target: Any) -> None:
    outcome = specchat(*QUICKLY)
    assert outcome.code == 0, outcome
    assert "24 runs, about" in outcome.err
    assert "Block 4 of 4" in outcome.err
    names = [line.split("  ")[0] for line in outcome.out.splitlines()]
    for way in ("plain", "loop", "lookup K=1", "lookup K=2", "lookup auto"):
        assert names.count(way) == 2  # in the table and in the plot


def test_out_has_every_file_and_json_is_one_object(specchat: Any, target: Any, tmp_path: Path) -> None:
    outcome = specchat(*QUICKLY, "--sources", "lookup,self", "--out", str(tmp_path / "run"), "--json")
    assert outcome.code == 0, outcome
    found = json.loads(outcome.out)
    assert found["findings"]["blocks"] == 4
    assert found["findings"]["ways"]["self K=2"]["same"] == {"agree": 4, "of": 4}
    assert found["findings"]["ways"]["self K=2"]["acceptance_rate"] == 1
    assert set(found["findings"]["verify_cost"]) >= {"1", "2", "3"}
    names = {file.name for file in (tmp_path / "run").iterdir()}
    assert names == {"samples.jsonl", "results.json", "samples.csv", "report.md", "report.html"}
    for file in (tmp_path / "run").iterdir():
        assert str(tmp_path) not in file.read_text()
        assert str(Path.home()) not in file.read_text()


def test_quick_takes_fewer_k_and_reads_a_prompt_once_a_block(
    specchat: Any, target: Any, tmp_path: Path
) -> None:
    outcome = specchat("bench", "--quick", "--out", str(tmp_path / "run"), "--json")
    assert outcome.code == 0, outcome
    design = json.loads(outcome.out)["design"]
    assert [way["k"] for way in design["ways"]] == [0, None, 2, 4, "auto"]
    assert not design["cold"]
    assert design["tokens"] == 32


def interrupt_after(runs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl+C during a run after so many timed ones."""
    run = measure.Bench.run
    done = 0

    def counted(self: measure.Bench, turn: Turn, *rest: Any, **more: Any) -> Any:
        nonlocal done
        done += turn.block >= 0
        if done > runs:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.2)
        return run(self, turn, *rest, **more)

    monkeypatch.setattr(measure.Bench, "run", counted)


def test_ctrl_c_keeps_what_is_done_and_resume_goes_on(
    specchat: Any, target: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(tmp_path / "run")
    with monkeypatch.context() as patched:
        interrupt_after(15, patched)
        patched.setattr(sys, "argv", ["specchat", *QUICKLY, "--out", folder])
        outcome = specchat(*QUICKLY, "--out", folder)
    assert outcome.code == 130
    assert "4 prompts" not in outcome.out.splitlines()[0]
    assert f"Go on with it: specchat {' '.join(QUICKLY)} --resume {folder}" in outcome.err
    before = (tmp_path / "run" / "samples.jsonl").read_text()
    assert before.count('"kind": "sample"') == 15

    again = specchat(*QUICKLY, "--resume", folder, "--json")
    assert again.code == 0, again
    assert json.loads(again.out)["findings"]["blocks"] == 4
    after = (tmp_path / "run" / "samples.jsonl").read_text()
    assert after.startswith(before)
    assert after.count('"kind": "sample"') == 24


def test_a_sweep_does_not_go_on_with_another_or_write_over_one(
    specchat: Any, target: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(tmp_path / "run")
    specchat(*QUICKLY, "--out", folder)
    other = specchat("bench", "--ks", "1,2", "--tokens", "16", "--count", "4", "--resume", folder)
    assert other.code == 2
    assert "was begun with" in other.err
    monkeypatch.setenv("MLX_SOMETHING", "1")
    elsewhere = specchat(*QUICKLY, "--resume", folder)
    assert elsewhere.code == 2
    assert "was begun with other environment variables" in elsewhere.err
    over = specchat(*QUICKLY, "--out", folder)
    assert over.code == 2
    assert "holds a sweep already" in over.err


def test_two_folders_are_compared(specchat: Any, target: Any, tmp_path: Path) -> None:
    for name in ("a", "b"):
        specchat(*QUICKLY, "--out", str(tmp_path / name))
    outcome = specchat("bench", "compare", str(tmp_path / "a"), str(tmp_path / "b"))
    assert outcome.code == 0, outcome
    assert outcome.out.splitlines()[0].split() == ["way", "tok/s", "then", "speedup", "then", "change"]
    found = json.loads(specchat("bench", "compare", "--json", str(tmp_path / "a"), str(tmp_path / "b")).out)
    assert [way["way"] for way in found["ways"]][:2] == ["plain", "loop"]
    assert specchat("bench", "compare", str(tmp_path / "a"), str(tmp_path / "c")).code == 1


def test_peers_run_in_the_same_blocks(specchat: Any, target: Any) -> None:
    outcome = specchat("bench", "peers", "--tokens", "12", "--count", "4", "--draft", "self")
    assert outcome.code == 0, outcome
    assert "mlx-dspark is not installed, so its lookup mode is left out." in outcome.err
    assert "specchat self K=2 over mlx-lm self K=2: " in outcome.out


@pytest.mark.parametrize(
    "argv",
    [
        ("--ks", "x"),
        ("--ks", "0"),
        ("--ks", "99"),
        ("--sources", "nothing"),
        ("--sources", "none"),
        ("--sources", "model:a,model:b"),
        ("--tokens", "1"),
        ("--repeats", "0"),
        ("compare", "one"),
        ("sideways",),
        ("peers", "extra"),
        ("peers", "--sources", "lookup,self"),
        ("--ks", ""),
        ("--sources", ""),
        ("--out", ""),
        ("--resume", ""),
        ("--repeats", "999999999999"),
        ("--prompts", "/nowhere"),
        ("--out", "a", "--resume", "b"),
    ],
)
def test_wrong_use_is_one_sentence(argv: tuple[str, ...], specchat: Callable[..., Any], target: Any) -> None:
    outcome = specchat("bench", *argv)
    assert outcome.code == 2
    assert len(outcome.err.splitlines()) == 1


def test_a_context_without_room_is_wrong_use(specchat: Any, target: Any) -> None:
    outcome = specchat(*QUICKLY, "--context", "20")
    assert outcome.code == 2
    assert "No prompt fits a context of 20 tokens." in outcome.err


def test_prompts_that_are_left_out_are_counted(specchat: Any, target: Any) -> None:
    outcome = specchat(*QUICKLY, "--context", "110")
    assert "1 prompt left out: too long for the context." in outcome.err
    assert "3 prompts, 3 blocks" in outcome.out


def test_options_without_a_use_here_are_named(specchat: Any, target: Any) -> None:
    assert "bench makes no use of --k and --stop." in specchat(*QUICKLY, "--k", "3", "--stop", "x").err
    assert "makes no use of --count" in specchat(*QUICKLY, "--quick").err


def test_a_sweep_does_not_go_on_with_another_cache(
    specchat: Any, target: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(tmp_path / "run")
    specchat(*QUICKLY, "--out", folder)
    outcome = specchat(*QUICKLY, "--exactness", "strict", "--resume", folder)
    assert (outcome.code, outcome.out) == (2, "")
    assert "was begun with other options of the engine" in outcome.err


def test_a_full_disk_takes_nothing_from_the_screen(
    specchat: Any, target: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("bench.report.files.os.replace", full)
    outcome = specchat(*QUICKLY, "--out", str(tmp_path / "run"))
    assert outcome.code == 1
    assert "go on with --resume" in outcome.err
    assert "4 prompts, 4 blocks" in outcome.out
    assert [file.name for file in (tmp_path / "run").iterdir()] == ["samples.jsonl"]


@pytest.fixture
def model_folder(tmp_path: Path) -> Path:
    config = tiny_config("llama", max_position_embeddings=4096)
    loaded = Loaded(tiny_model(config, seed=6), tiny_tokenizer(), Info("", "", "", 0, 0, "", None, 0))
    return save_tiny(tmp_path / "tiny", loaded, config)


@pytest.mark.slow
def test_sigkill_loses_only_the_run_in_flight(model_folder: Path, tmp_path: Path) -> None:
    """A process of its own: nothing of it gets to tidy up, and Textual is never imported there."""
    folder = tmp_path / "run"
    samples = folder / "samples.jsonl"
    command = [sys.executable, "-m", "app", *QUICKLY, "--model", str(model_folder)]
    process = subprocess.Popen([*command, "--out", str(folder)], cwd=ROOT, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not (samples.exists() and samples.read_text().count("sample") > 5):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = samples.read_text()
    done = subprocess.run(
        [*command, "--resume", str(folder), "--json"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    whole = before[: before.rfind("\n") + 1]
    assert samples.read_text().startswith(whole)
    assert samples.read_text().count('"kind": "sample"') == 24
    assert json.loads(done.stdout)["findings"]["blocks"] == 4
