"""Times what kept chats cost, and prints the seconds as JSON. `bench.studies.store` starts it.

Each time is the median of several runs on a warm disk.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from app.chats.recorder import Recorder
from app.chats.records import ChatInfo, ChatMessage
from app.chats.store import Store, new_message_id

RUNS = 7
LONG_CHAT = 1_000  # messages
MESSAGES = 20_000
TOKENS = 300  # of an answer
RATE = 75  # tokens a second
SECONDS = 10.0  # of streaming
WORDS = ("the", "of", "model", "tokens", "draft", "verify", "def", "return", "import", "Straße", "naïve")
WORDS += ("서울", "날씨", "내일", "비가", "온대요", "하지만", "그리고", "привет", "мир", "東京", "漢字")


def main() -> None:
    rng = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chats" / "chats.db"
        store = Store.open(path)
        long = store.take(ChatInfo("", "A long chat", 0, 0), chat_of(rng, LONG_CHAT), None)
        for number in range((MESSAGES - LONG_CHAT) // 100):
            store.take(ChatInfo("", f"Chat {number}", 0, 0), chat_of(rng, 100), None)
        found = {
            "sqlite_bytes": path.stat().st_size,
            "open_store_s": median(lambda: Store.open(path).close()),
            "list_chats_s": median(store.chats),
            "open_chat_s": median(lambda: store.messages(long.id)),
            "search_nowhere_s": median(lambda: store.search("nowhere to be found")),
            "search_everywhere_s": median(lambda: store.search("E")),
            "search_korean_s": median(lambda: store.search("비가 온")),
            "search_syllable_s": median(lambda: store.search("씨")),
            **streaming(path, rng),
        }
        store.close()
    sys.stdout.write(json.dumps(found) + "\n")


def median(act: Callable[[], object]) -> float:
    """Seconds that `act` takes."""
    times = []
    for _ in range(RUNS):
        began = time.perf_counter()
        act()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def chat_of(rng: random.Random, count: int) -> list[ChatMessage]:
    """A chat of `count` messages, in which questions and answers of usual length alternate."""
    messages: list[ChatMessage] = []
    for number in range(count):
        parent = messages[-1].id if messages else None
        if number % 2:
            pieces = tuple((rng.choice(("target", "draft:lookup")), word) for word in words(rng, TOKENS))
            text = "".join(piece for _, piece in pieces)
            stats = {"tok_s": 50.0, "ttft_s": 0.1, "completion_tokens": TOKENS}
            messages.append(ChatMessage(number, parent, "assistant", text, pieces=pieces, stats=dict(stats)))
        else:
            messages.append(ChatMessage(number, parent, "user", "".join(words(rng, 20))))
    return messages


def words(rng: random.Random, count: int) -> list[str]:
    return [f"{rng.choice(WORDS)} " for _ in range(count)]


def streaming(path: Path, rng: random.Random) -> dict[str, float]:
    """What it costs to record an answer at `RATE`, as long as it is after `SECONDS`, longer than most.

    Returns:
        Processor time of the process a second, and the longest that a call to the recorder took.
    """
    recorder = Recorder(path, lambda sentence: sys.exit(sentence))
    answer = ChatMessage(new_message_id(), None, "assistant", "", "streaming")
    recorder.add(recorder.create("Streaming").id, answer)
    pieces = [("plain", word) for word in words(rng, 4_000)]
    recorder.flush(10)
    longest, spent, began = 0.0, time.process_time(), time.monotonic()
    while (elapsed := time.monotonic() - began) < SECONDS:
        pieces += [("plain", word) for word in words(rng, RATE // 10)]
        text = "".join(piece for _, piece in pieces)
        called = time.perf_counter()
        recorder.progress(answer.id, text, pieces)
        longest = max(longest, time.perf_counter() - called)
        time.sleep(0.1)
    used = time.process_time() - spent
    recorder.close()
    return {"streaming_cpu_s_per_s": used / elapsed, "streaming_longest_call_s": longest}


if __name__ == "__main__":
    main()
