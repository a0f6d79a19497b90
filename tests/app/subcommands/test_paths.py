"""`specchat paths` says where things are."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from models import locations


def test_paths_say_what_is_there(specchat: Any, write_config: Callable[[str], Path]) -> None:
    file = write_config("")
    lines = specchat("paths").out.splitlines()
    assert [line.split()[0] for line in lines] == ["config", "data", "chats", "models", "cache", "hub"]
    assert lines[0].split()[1:] == [str(file)]
    assert lines[-1].endswith(f"{locations.hub_dir()}  (not there yet)")


def test_a_path_can_move_no_cursor(specchat: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPECCHAT_HOME", "/a\x1b[2J")
    assert "/a\u241b[2J/config.toml" in specchat("paths").out


def test_paths_as_json(specchat: Any, home: Path) -> None:
    paths = json.loads(specchat("paths", "--json").out)
    assert paths["config"] == {"path": str(locations.config_file()), "exists": False}
    assert all(place["path"].startswith(str(home)) for place in paths.values())
