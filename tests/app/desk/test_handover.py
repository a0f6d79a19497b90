"""The benchmark that a chat hands over to measures the chat's own pair, whatever else is set."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from app.cli import _parser, _split
from app.desk.handover import Handover
from app.desk.handover import bench as handover
from app.settings import config
from app.settings.options import Option
from app.settings.settings import Settings
from app.subcommands import bench


def read_back(made: Handover) -> tuple[argparse.Namespace, Settings]:
    """What `specchat` makes of the arguments and the environment."""
    start = made.argv.index("bench")
    command, rest = _split(list(made.argv[start:]))
    assert command == "bench"
    given: list[tuple[Option, str]] = []
    parser = _parser("specchat bench", "", given)
    bench.arguments(parser)
    args = parser.parse_args(rest)
    return args, config.read(given, {**os.environ, **made.environ})


def test_it_is_this_python_and_the_quick_sweep_of_the_pair() -> None:
    made = handover(Settings(model="org/name", draft="model:org/small"))
    assert made.argv[0] == sys.executable
    assert made.argv[4:6] == ("bench", "--quick")
    assert made.command == "specchat bench --quick --model=org/name --draft=model:org/small"


def test_it_is_this_specchat_whatever_stands_in_the_persons_folder(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    for name in ("__init__", "__main__", "cli"):
        (tmp_path / "app" / f"{name}.py").write_text("print('another app')\n")
    made = handover(Settings(model="builtin"))
    told = subprocess.run([*made.argv, "--help"], cwd=tmp_path, capture_output=True, text=True)
    assert told.stdout.startswith("usage: specchat bench"), told.stdout + told.stderr


def test_every_setting_that_a_sweep_uses_comes_over(monkeypatch: Any) -> None:
    settings = Settings(
        model="a b", draft="lookup", dtype="float16", kv_bits=8, context=512, temp=0.7, top_p=0.9, seed=3,
        seed_exact=True, exactness="strict", logit_bias=((42, -5.0), (7, 1.5)), system="Be -- brief.",
    )  # fmt: skip
    monkeypatch.setenv("SPECCHAT_TOP_K", "50")
    args, read = read_back(handover(settings))
    assert args.quick
    assert read == settings, "flags overrule the environment"


def test_what_is_of_a_chat_alone_does_not(monkeypatch: Any) -> None:
    settings = Settings(k=3, max_tokens=9, stop=("x",), details=True, context_full="drop", paranoid=True)
    _, read = read_back(handover(settings))
    assert read == Settings()


def test_without_a_source_lookup_is_swept() -> None:
    assert "--draft=auto" in handover(Settings(draft="none")).command


def test_it_says_that_the_model_is_let_go_first_and_how_large_it_is() -> None:
    said = handover(Settings(), 2_340_000_000).sentence
    assert said.startswith("The model (2.3 GB of weights) is let go first")
    assert handover(Settings()).sentence.startswith("The model is let go first")


def test_what_a_person_wrote_is_in_no_arguments_that_every_user_can_read(monkeypatch: Any) -> None:
    monkeypatch.setenv("SPECCHAT_SYSTEM", "Of the shell.")
    made = handover(Settings(system="I am ill.", stop=("my name",)))
    assert not [word for word in made.argv if "ill" in word or "my name" in word]
    assert read_back(made)[1].system == "I am ill."
    assert read_back(handover(Settings(system="")))[1].system == "", "an empty one overrules, too"


def test_how_it_ended_is_a_sentence_also_where_it_never_began() -> None:
    python = ("import os, sys; sys.exit(os.environ.get('SPECCHAT_SYSTEM') != 'x')",)
    ran = [
        Handover((sys.executable, "-c", *python), "", "", environ).run()
        for environ in ({"SPECCHAT_SYSTEM": "x"}, {"SPECCHAT_SYSTEM": "y"})
    ]
    assert ran == ["It is done.", "It ended with code 1."]
    assert (
        Handover(("/nowhere/python",), "", "").run() == "It could not be started: No such file or directory."
    )
