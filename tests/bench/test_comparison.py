"""A comparison from the command line, with scripted ways instead of a model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from bench import backends, comparison
from bench.comparison import Comparison
from bench.interleave import Step, Way


def script(drafted: int) -> Way:
    """A way whose steps bring five tokens each, four of them drafted ones or none."""

    def decode(prompt: list[int]) -> Iterator[Step]:
        for _ in range(8):
            yield Step(5, [1, 2, 3, 4, 5], drafted, drafted // 2)

    return decode


SCRIPTED = Comparison(
    module="bench.scripted",
    purpose="Compare two scripts.",
    baseline="slow",
    ways=lambda target, tokens: {"slow": script(0), "fast": script(4)},
)


@pytest.fixture(autouse=True)
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = SimpleNamespace(apply_chat_template=lambda messages, **options: [1, 2, 3])
    info = SimpleNamespace(dtype="float32", quantization=None)
    target = SimpleNamespace(tokenizer=tokenizer, info=info)
    monkeypatch.setattr(comparison, "load", lambda ref, **options: target)


def test_prints_a_table_and_then_one_json_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert comparison.run(SCRIPTED, ["--backend", "float32", "--blocks", "3"]) == 0
    *table, line = capsys.readouterr().out.splitlines()
    assert "fast" in "\n".join(table)
    summary = json.loads(line)
    (backend,) = summary["backends"]
    fast = backend["ways"]["fast"]
    assert (fast["same_answers"], fast["blocks"]) == (3, 3)
    assert (fast["acceptance_rate"], fast["acceptance_length"]) == (0.5, 3.0)
    assert fast["speedup"]["low"] <= fast["speedup"]["value"] <= fast["speedup"]["high"]
    assert backend["ways"]["slow"]["acceptance_rate"] is None
    assert {"date", "machine", "load_before", "model", "tokens", "seed"} <= summary.keys()


def test_names_the_kind_of_machine_and_not_the_machine(capsys: pytest.CaptureFixture[str]) -> None:
    comparison.run(SCRIPTED, ["--backend", "float32", "--blocks", "2"])
    summary = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert set(summary["machine"]) == {"system", "processor", "cores", "python", "mlx", "mlx-lm"}


@pytest.mark.parametrize(("option", "least"), [("--blocks", "2"), ("--tokens", "20")])
def test_too_little_to_compare_is_refused(
    option: str, least: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit:
        comparison.run(SCRIPTED, [option, "1"])
    assert exit.value.code == 2
    assert f"at least {least}" in capsys.readouterr().err


def test_each_backend_runs_in_a_process_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "echo_preload.py").write_text(
        "import os, sys\nprint('noise')\nprint(os.environ.get('LD_PRELOAD'), *sys.argv[1:])\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    shipped = backends.measure_in_child("echo_preload", "as-shipped", ["--blocks", "2"], blas="libm.so.6")
    assert shipped == "None --backend as-shipped --blocks 2"
    plain = backends.measure_in_child("echo_preload", "float32", [], blas="libm.so.6")
    assert plain == "libm.so.6 --backend float32"
