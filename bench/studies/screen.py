"""Does the screen slow generation down, and does it answer while it shows an answer?

Both sides run the same engine and time it where it runs: one under the terminal UI in a pseudo-terminal,
with a hundred finished messages above; one that shows nothing, as `ask` does. They take turns in blocks,
so a drifting machine slows them alike. Meanwhile single keys are typed: how long until each is written
back? Then the program starts without and with a long chat, and answers until its chat is long.

The engine is a script at a fixed pace (`tests/performance.py`, so run this in a checkout), or a model.
Nothing of the program is imported: it is started as a person starts it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bench.environment import environment
from bench.statistics import Estimate
from bench.studies.rates import rate
from bench.studies.terminal import Terminal

PROMPTS = ("prose", "fence", "list")
ABOVE = 100  # messages
LONG = 1000  # messages
KEY_EVERY = 0.25  # seconds, with as much again at random
FRESH = [chr(code) for code in range(0x100, 0x17F)]  # keys of which the answers write none
PLAYER = (sys.executable, "-m", "tests.performance")
PROGRAM = (sys.executable, "-m", "app", "--model", "./none")  # no model: only the screen is timed
FIRST_FRAME = "or / for commands"  # of the prompt; its first letter is under the cursor, which blinks


TIMES = {
    "keys": "key to screen",
    "first_frame": "first frame",
    "first_frame_processor": "  processor's time",
    "long_chat": f"{LONG} messages",
    "long_chat_processor": "  processor's time",
}


@dataclass
class Starts:
    """Of each start the seconds to the frame, and the processor's own: on a busy machine they say more."""

    seconds: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)


@dataclass
class Found:
    """What was measured: seconds a token by prompt, seconds a key, and so on."""

    screen: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in PROMPTS})
    bare: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in PROMPTS})
    keys: list[float] = field(default_factory=list)
    first_frame: Starts = field(default_factory=Starts)
    long_chat: Starts = field(default_factory=Starts)
    memory: dict[int, int] = field(default_factory=dict)  # bytes by messages


class Report:
    """The lines that a player adds, one an answer."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read = 0

    def next(self) -> dict[str, Any] | None:
        """The next answer's line, if it is there."""
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        if len(lines) <= self._read:
            return None
        self._read += 1
        return json.loads(lines[self._read - 1])


@contextmanager
def home() -> Iterator[dict[str, str]]:
    """The environment of a program with an empty home, that keeps what Python compiles, as installed."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as folder:
        yield {**kept, "SPECCHAT_HOME": folder, "TERM": "xterm-256color", "COLORTERM": "truecolor"}


def fill(messages: int, env: dict[str, str]) -> None:
    """Keep a chat of so many messages."""
    subprocess.run([*PLAYER, "fill", str(messages)], env=env, check=True)


def generation(found: Found, blocks: int, player: Sequence[str], *, above: int, seed: int) -> None:
    """Block after block, each prompt once on each side, in random order."""
    dice = random.Random(seed)
    with home() as env, home() as other:
        for each in (env, other) if above else ():
            fill(above, each)
        seen, unseen = (Report(Path(each["SPECCHAT_HOME"]) / "report") for each in (env, other))
        quiet = subprocess.Popen(
            [*PLAYER, "bare", str(unseen.path), *player], env=other, stdin=subprocess.PIPE, text=True
        )
        with closing(Terminal([*PLAYER, "screen", str(seen.path), *player], env=env)) as terminal:
            terminal.wait_for("ready", 120)
            for _ in range(blocks):
                for prompt in dice.sample(PROMPTS, len(PROMPTS)):
                    for side in dice.sample(("screen", "bare"), 2):
                        if side == "screen":
                            line = _on_screen(terminal, seen, prompt, found.keys, dice)
                        else:
                            line = _unseen(quiet, terminal, unseen, prompt)
                        getattr(found, side)[prompt].append(line["seconds"] / line["tokens"])
        assert quiet.stdin is not None
        quiet.stdin.close()
        quiet.wait()


def _on_screen(
    terminal: Terminal, report: Report, prompt: str, keys: list[float], dice: random.Random
) -> dict[str, Any]:
    terminal.type(prompt)
    terminal.read(0.2)
    terminal.type("\r")
    fresh, due = dice.sample(FRESH, 40), time.perf_counter() + 1.0
    while (line := report.next()) is None:
        terminal.read(0.02)
        if time.perf_counter() >= due and fresh:
            key, pressed = fresh.pop(), time.perf_counter()
            terminal.type(key)
            keys.append(terminal.wait_for(key) - pressed)
            due = time.perf_counter() + KEY_EVERY * (1 + dice.random())
    terminal.type("\x15")  # Ctrl+U empties the line
    _rest(terminal, 1.0)
    return line


def _unseen(quiet: subprocess.Popen[str], terminal: Terminal, report: Report, prompt: str) -> dict[str, Any]:
    assert quiet.stdin is not None
    quiet.stdin.write(f"{prompt}\n")
    quiet.stdin.flush()
    while (line := report.next()) is None:
        terminal.read(0.05)
    return line


def _rest(terminal: Terminal, seconds: float) -> None:
    until = time.perf_counter() + seconds
    while (left := until - time.perf_counter()) > 0:
        terminal.read(left)


def opening(found: Found, times: int) -> None:
    """Time the first frame, and a start into a long chat, in turn."""
    with home() as env, home() as long:
        fill(LONG, long)
        _start(Starts(), PROGRAM, FIRST_FRAME, env)  # the first one of all compiles
        for _ in range(times):
            _start(found.first_frame, PROGRAM, FIRST_FRAME, env)
            _start(found.long_chat, [*PROGRAM, "--continue"], f"The end of {LONG}.", long)


def _start(times: Starts, command: Sequence[str], text: str, env: dict[str, str]) -> None:
    with closing(Terminal(command, env=env)) as terminal:
        times.seconds.append(terminal.wait_for(text) - terminal.started)
    times.processor.append(terminal.spent)


def memory(found: Found, messages: int) -> None:
    """Ask until the chat has so many messages, and note the program's size on the way."""
    with home() as env:
        report = Report(Path(env["SPECCHAT_HOME"]) / "report")
        with closing(Terminal([*PLAYER, "screen", str(report.path), "--rate", "0"], env=env)) as terminal:
            terminal.wait_for("ready")
            for asked in range(1, messages // 2 + 1):
                terminal.type("short")
                terminal.read(0.1)
                terminal.type("\r")
                while report.next() is None:
                    terminal.read(0.02)
                _rest(terminal, 0.15)
                if 2 * asked % max(messages // 5, 2) == 0:
                    found.memory[2 * asked] = terminal.memory


def summary(found: Found) -> dict[str, Any]:
    """Ratios of speed, screen over bare, with their intervals; quantiles; bytes."""
    ratios = {name: rate(found.bare[name], found.screen[name]) for name in PROMPTS if found.screen[name]}
    measured: dict[str, Any] = {"speed": {name: asdict(each) for name, each in ratios.items()}}
    # Of a machine that others use too, the best answers tell what the screen costs; the others, what they do.
    measured["speed_of_the_best"] = {name: min(found.bare[name]) / min(found.screen[name]) for name in ratios}
    measured["keys"] = _quantiles(found.keys)
    for name, starts in (("first_frame", found.first_frame), ("long_chat", found.long_chat)):
        measured[name] = _quantiles(starts.seconds)
        measured[f"{name}_processor"] = _quantiles(starts.processor)
    measured["memory_bytes"] = found.memory
    return measured


def _quantiles(seconds: Sequence[float]) -> dict[str, float] | None:
    if not seconds:
        return None
    median, high = np.quantile(seconds, [0.5, 0.95])
    return {"median_s": float(median), "p95_s": float(high), "count": len(seconds)}


def table(measured: dict[str, Any]) -> Iterator[str]:
    """The summary for a reader."""
    for name, numbers in measured["speed"].items():
        speed = Estimate(**numbers)
        best = measured["speed_of_the_best"][name]
        interval = f"({speed.low:.3f} to {speed.high:.3f})"
        yield f"{name:<24}{speed.value:.3f} of the bare speed {interval}, {best:.3f} of the best"
    for name, title in TIMES.items():
        if found := measured[name]:
            times = f"median {1e3 * found['median_s']:.0f} ms, P95 {1e3 * found['p95_s']:.0f} ms"
            yield f"{title:<24}{times} of {found['count']}"
    for messages, size in measured["memory_bytes"].items():
        yield f"{f'{messages} messages':<24}{size / 1e6:.0f} MB"


def main(arguments: list[str]) -> int:
    """Measure, print the table and the JSON line; the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.studies.screen", description="What the screen costs, and how fast it answers."
    )
    add = parser.add_argument
    add("--rate", type=float, default=75.0, help="tokens a second of the script")
    add("--model", help="generate with a model in place of the script")
    add("--max-tokens", type=int, default=48, help="of the model's answers")
    add("--blocks", type=int, default=5, help="blocks of three prompts on both sides; 0 leaves them out")
    add("--starts", type=int, default=5, help="starts without and with a long chat; 0 leaves them out")
    add("--messages", type=int, default=LONG, help="of the growing chat; 0 leaves it out")
    add("--seed", type=int, default=0, help="of the order")
    options = parser.parse_args(arguments)
    found = Found()
    model = ["--model", options.model, "--max-tokens", str(options.max_tokens)] if options.model else []
    if options.blocks:
        above = 0 if model else ABOVE  # a small model's context does not hold them
        player = ["--rate", str(options.rate), *model]
        generation(found, options.blocks, player, above=above, seed=options.seed)
    if options.starts:
        opening(found, options.starts)
    if options.messages:
        memory(found, options.messages)
    measured = summary(found)
    sys.stdout.writelines(f"{line}\n" for line in table(measured))
    whole = {"bench": "bench.studies.screen", "environment": environment(), **vars(options), **measured}
    sys.stdout.write(f"{json.dumps(whole)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
