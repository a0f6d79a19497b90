"""What is told of a machine: its kind and its state, and never whose it is."""

from __future__ import annotations

import getpass
import json
import platform
import sys

import pytest

from bench import environment
from bench.environment import conditions

PMSET = {
    ("pmset", "-g", "batt"): "Now drawing from 'Battery Power'\n",
    ("pmset", "-g"): " standby 1\n lowpowermode         1\n",
    ("pmset", "-g", "therm"): "CPU_Scheduler_Limit = 100\nCPU_Speed_Limit = 73\n",
}


def test_no_host_user_or_path_is_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", "/home/somebody/lib/libopenblas.so.0")
    monkeypatch.setenv("MLX_SOMETHING", "1")
    monkeypatch.setenv("SECRET", "hunter2")
    found = environment.environment()
    assert found["variables"]["LD_PRELOAD"] == "libopenblas.so.0"
    assert found["variables"]["MLX_SOMETHING"] == "1"
    text = json.dumps(found)
    assert "/home" not in text
    assert "hunter2" not in text
    assert platform.node() not in text
    assert f'"{getpass.getuser()}"' not in text
    assert {"chip", "cores", "memory_bytes", "os", "python", "versions", "device", "date"} <= set(found)


def test_a_macs_power_and_heat_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(environment, "_said", lambda *command: PMSET[command])
    found = conditions()
    assert (found["battery"], found["low_power"], found["speed_limit"]) == (True, True, 73)


def test_what_a_mac_does_not_tell_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(environment, "_said", lambda *command: "")
    found = conditions()
    assert (found["battery"], found["low_power"], found["speed_limit"]) == (None, None, None)
