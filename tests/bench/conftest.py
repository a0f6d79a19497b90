"""Timed loops refuse to run beside Textual, which a plugin of pytest's may have loaded."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture(autouse=True)
def without_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "textual", raising=False)
