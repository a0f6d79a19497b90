"""What do kept chats cost: opening one, searching all, writing an answer down while it streams?

A chat must open and a search must end before a person notices, and recording must leave the processor to
the model. Nothing of the program is imported, for it stands above: `tests/store_speed.py` times it in a
process of its own, so run this in a checkout: `python -m bench.studies.store`.
"""

from __future__ import annotations

import json
import subprocess
import sys

from bench.environment import conditions, environment

TIMED = (sys.executable, "-m", "tests.store_speed")
# What is measured, and what it may take, in seconds.
ROWS = {
    "open_store_s": ("opening the store", 0.05),
    "list_chats_s": ("listing the chats", 0.05),
    "open_chat_s": ("reading a chat of 1,000 messages", 0.5),
    "search_nowhere_s": ("searching 20,000 messages for what is not there", 0.3),
    "search_everywhere_s": ("searching them for what is everywhere", 0.3),
    "search_korean_s": ("searching them for Korean words", 0.3),
    "search_syllable_s": ("searching them for one syllable", 0.3),
    "streaming_cpu_s_per_s": ("recording 75 tokens/s, processor time a second", 0.05),
    "streaming_longest_call_s": ("the longest that the screen waited for it", 0.01),
}


def main() -> int:
    """Measure, print the table and the JSON line; the exit code."""
    before = conditions()
    done = subprocess.run(TIMED, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout)
    width = max(len(name) for name, _ in ROWS.values()) + 2
    sys.stdout.write(f"{'':{width}}{'seconds':>9}{'at most':>9}\n")
    for key, (name, most) in ROWS.items():
        over = "  too slow" if found[key] > most else ""
        sys.stdout.write(f"{name:{width}}{found[key]:9.4f}{most:9.2f}{over}\n")
    sys.stdout.write(f"file of 20,000 messages: {found['sqlite_bytes'] / 1e6:.0f} MB\n")
    whole = {"bench": "bench.studies.store", "environment": environment(), "conditions": before, **found}
    sys.stdout.write(f"{json.dumps(whole)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
