"""One module knows every path, and one variable moves them all."""

from pathlib import Path

import pytest

from models import locations

PLACES = ("config_dir", "config_file", "data_dir", "cache_dir", "models_dir", "hub_dir")


def test_one_variable_moves_everything(home: Path) -> None:
    for place in PLACES:
        assert getattr(locations, place)().is_relative_to(home)


def test_asking_for_a_path_creates_nothing(home: Path) -> None:
    for place in PLACES:
        getattr(locations, place)()
    assert not home.exists()


def test_a_home_that_nobody_has_is_a_name_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPECCHAT_HOME", "~nobody-of-this-name/x")
    assert locations.config_dir() == Path("~nobody-of-this-name/x")


def test_the_hub_cache_is_shared_with_other_programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("SPECCHAT_HOME", "HF_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert locations.hub_dir() == Path("~/.cache/huggingface/hub").expanduser()
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    assert locations.hub_dir() == tmp_path / "hf" / "hub"
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    assert locations.hub_dir() == tmp_path / "cache"
