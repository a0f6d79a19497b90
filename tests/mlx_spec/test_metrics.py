"""What is counted, and that unknown stays unknown."""

from __future__ import annotations

import io
import json

from tiny import tiny_loaded

from mlx_spec import Engine, Limits
from mlx_spec.metrics import Metrics

SPECULATION_KEYS = {
    "state", "reason", "source", "rounds", "drafted", "accepted", "acceptance_rate", "acceptance_length",
    "acceptance_by_position", "k_histogram", "speedup", "verify_cost", "serial_index", "verdict",
    "predicted", "expected_kernel",
}  # fmt: skip


def test_nothing_is_known_before_a_round():
    metrics = Metrics()
    assert metrics.ttft_s is metrics.tok_s is metrics.acceptance_rate is metrics.acceptance_length is None
    assert metrics.speculation().keys() == SPECULATION_KEYS
    json.dumps(metrics.speculation(), allow_nan=False)


def test_rate_and_length_are_two_things():
    metrics = Metrics()
    metrics.record(k=4, accepted=3, emitted=4, seconds=1.0)
    metrics.record(k=4, accepted=0, emitted=1, seconds=2.0)
    metrics.record(k=0, accepted=0, emitted=1, seconds=3.0)
    assert metrics.acceptance_rate == 3 / 8
    assert metrics.acceptance_length == 2.5
    assert metrics.acceptance_by_position == [0.5, 1.0, 1.0, 0.0]
    assert metrics.speculation()["k_histogram"] == {"0": 1, "4": 2}
    assert metrics.tok_s == 2 / 2.0
    assert metrics.ttft_s == 1.0


def test_a_round_that_gives_no_token_is_not_timed():
    """The step that finds the end token would make a short answer look slow."""
    metrics = Metrics()
    metrics.record(k=0, accepted=0, emitted=0, seconds=1.0)
    assert metrics.ttft_s is None
    metrics.record(k=0, accepted=0, emitted=1, seconds=2.0)
    metrics.record(k=0, accepted=0, emitted=1, seconds=3.0)
    metrics.record(k=0, accepted=0, emitted=0, seconds=9.0)
    assert metrics.ttft_s == 2.0
    assert metrics.tok_s == 1.0


def test_a_stop_string_over_two_rounds_does_not_turn_the_speed_round():
    """Tokens of the first round that a later one takes back were decoded all the same."""
    target = tiny_loaded("llama", seed=3)
    prompt = [10, 11, 12, 13]
    answer = [token for event in Engine(target, None).generate(prompt) for token in event.tokens]
    text = target.tokenizer.decode(answer[:5])
    engine = Engine(target, "self", k=3)
    events = list(engine.generate(prompt, limits=Limits(stop=(text[1:],))))
    assert events[-1].finish_reason == "stop_string"
    assert engine.metrics.completion_tokens <= 1
    assert (engine.metrics.tok_s or 0) > 0


def test_the_trace_has_every_draft_and_every_round():
    stream = io.StringIO()
    target = tiny_loaded("llama", seed=3)
    prompt = [10, 11, 12, 10, 11, 12, 10, 11]
    engine = Engine(target, "lookup", k=3, trace=stream)
    events = list(engine.generate(prompt, limits=Limits(max_tokens=20)))
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert lines[0] == {"event": "begin", "prompt_tokens": 8, "source": "lookup", "seed": None}
    assert lines[-1]["event"] == "end"
    assert lines[-1]["reason"] == events[-1].finish_reason
    rounds = lines[1:-1]
    assert [line["k"] for line in rounds] == [event.k for event in events]
    assert rounds[0]["drafted"] == [12, 10, 11]
    assert rounds[0]["accepted"] == events[0].accepted < 3
    assert sum(line["committed"] for line in rounds) == engine.metrics.completion_tokens
    assert all(len(line["drafted"]) == line["k"] for line in rounds)


def test_memory_is_reported_in_bytes():
    engine = Engine(tiny_loaded("llama"), "self", k=2)
    list(engine.generate([5, 6, 7], limits=Limits(max_tokens=4)))
    memory = engine.metrics.memory()
    assert memory["target_bytes"] > 100_000
    assert 0 < memory["draft_bytes"] < memory["target_bytes"]  # its cache only: the weights are the target's
    assert memory["kv_bytes"] > 0
