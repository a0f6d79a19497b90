"""Who may import whom: the arrows of docs/architecture.md, checked in every file."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# What each package may import of this project, besides itself.
ARROWS = {
    "mlx_spec": set(),
    "models": {"mlx_spec"},
    "bench": {"mlx_spec", "models"},
    "app": {"mlx_spec", "models", "bench"},
}
# What lies in `app` and in its screen, from the bottom up: each may import what stands before it, and of its
# own row only itself. What is not named stands above all and imports what it likes.
ROOMS = {
    "app": [
        {"display", "replacement", "thinking"},
        {"errors"},
        {"interrupt", "settings"},
        {"assistant"},
        {"thread", "chats"},
        {"files", "speculation"},
        {"desk"},
        {"subcommands", "line", "tui"},
    ],
    "app.tui": [
        {"terminal"},
        {"text", "speculation"},
        {"transcript", "sheets"},
        {"prompt"},
    ],
}
ENGINE_LIBRARIES = {"mlx", "mlx_lm", "numpy"}
FOLDERS = {*ARROWS, "tests", "docs"}
FILES = [path for package in ARROWS for path in sorted((ROOT / package).rglob("*.py"))]


def is_module(dotted: str) -> bool:
    path = ROOT.joinpath(*dotted.split("."))
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def imports(path: Path) -> Iterator[str]:
    """Every module that the file imports, lazily or not, as a dotted name."""
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), path.name)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield module
            yield from (
                f"{module}.{alias.name}" for alias in node.names if is_module(f"{module}.{alias.name}")
            )
        # A module that is loaded by its name.
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            name = node.value
            if re.fullmatch(r"\w+(\.\w+)+", name) and name.split(".")[0] in ARROWS and is_module(name):
                yield name


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", FILES, ids=named)
def test_imports_follow_the_arrows(path: Path) -> None:
    package = path.relative_to(ROOT).parts[0]
    ours = {name.split(".")[0] for name in imports(path)} & {*ARROWS, "tests"}
    assert ours <= ARROWS[package] | {package}


def room(name: str, house: str) -> str | None:
    """The folder or file of `house` that a dotted name leads to; None if it leads elsewhere."""
    return name.removeprefix(f"{house}.").split(".")[0] if name.startswith(f"{house}.") else None


@pytest.mark.parametrize("house", ROOMS)
def test_rooms_import_only_what_lies_below_them(house: str) -> None:
    allowed = {}
    below: set[str] = set()
    for row in ROOMS[house]:
        allowed |= {name: below | {name} for name in row}
        below = below | row
    for path in FILES:
        here = room(".".join(path.relative_to(ROOT).with_suffix("").parts), house)
        found = {room(name, house) for name in imports(path)} - {None}
        assert found <= allowed.get(here, found), named(path)


def test_every_folder_has_its_place_among_the_rooms() -> None:
    for house, rows in ROOMS.items():
        folders = {path.parent.name for path in ROOT.joinpath(*house.split(".")).glob("*/__init__.py")}
        assert folders <= set().union(*rows)


@pytest.mark.parametrize("path", [p for p in FILES if named(p).startswith("mlx_spec/")], ids=named)
def test_engine_leans_on_mlx_mlx_lm_and_numpy_alone(path: Path) -> None:
    libraries = {name.split(".")[0] for name in imports(path)} - sys.stdlib_module_names - {"mlx_spec"}
    assert libraries <= ENGINE_LIBRARIES


@pytest.mark.parametrize("path", [p for p in FILES if named(p).startswith("mlx_spec/policy/")], ids=named)
def test_policy_decides_without_mlx(path: Path) -> None:
    assert not {name.split(".")[0] for name in imports(path)} & {"mlx", "mlx_lm"}


@pytest.mark.parametrize(
    "module",
    [
        "app.subcommands.bench",
        "app.cli",
        "app.line.chat",
        "bench.design",
        "bench.options",
        "mlx_spec",
        "mlx_spec.errors",
        "mlx_spec.events",
        "mlx_spec.options",
        "mlx_spec.policy.auto",
        "models",
        "models.locations",
        "models.stock",
    ],
)
def test_defaults_paths_and_decisions_load_without_mlx_or_textual(module: str) -> None:
    code = (
        f"import sys, {module}; "
        "sys.exit(', '.join({'mlx', 'mlx_lm', 'transformers', 'textual'} & sys.modules.keys()) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_library_that_is_imported_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = {re.match(r"[\w-]+", need)[0].lower() for need in project["dependencies"]}
    libraries = {name.split(".")[0] for path in FILES for name in imports(path)}
    carriers = packages_distributions()
    for library in libraries - sys.stdlib_module_names - set(ARROWS):
        assert declared & {re.sub("[_.]", "-", carrier.lower()) for carrier in carriers[library]}, library


def test_top_level_has_the_four_packages_their_tests_and_the_docs_only() -> None:
    made_by_tools = {"__pycache__", "build", "dist", "node_modules"}
    folders = {path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith(".")}
    assert folders - made_by_tools <= FOLDERS
    assert set(ARROWS) <= folders


def test_the_check_sees_lazy_relative_and_named_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    for name in ("app/cli.py", "models/deep/inner.py", "models/near.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    path = tmp_path / "models/deep/inner.py"
    path.write_text(
        "from ..near import thing\n"
        "def later():\n    import app.cli\n"
        "TABLE = {'x': 'app.cli', 'y': 'not.a.module'}\n"
    )
    assert sorted(imports(path)) == ["app.cli", "app.cli", "models.near"]
