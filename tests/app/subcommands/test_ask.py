"""`specchat ask`: the answer on stdout, everything else on stderr."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from screenplay import FACTS, PARKED, PAYING
from scripted import ScriptedAssistant as Scripted
from scripted import plain

from app.thinking import Markers
from mlx_spec.errors import CacheMismatch, PairMismatch, PromptTooLong, SpecError
from mlx_spec.events import Round
from mlx_spec.verdict.diagnose import Verdict
from models.errors import ModelError, ModelMissing

DRAFT = "draft:lookup"
SPECULATIVE = [
    Round([5, 6, 7], [DRAFT, DRAFT, "target"], [(DRAFT, "ab"), ("target", "c")], k=4, accepted=2),
    Round([8], ["plain"], [("plain", "d")]),
    Round(finish_reason="length"),
]


def test_the_answer_is_all_of_stdout(specchat: Any, assistant: Scripted) -> None:
    outcome = specchat("ask", "Hi")
    assert (outcome.code, outcome.out) == (0, "Hello there\n")
    assert outcome.err == "specchat: Loading the script\n"
    assert assistant.closed


def test_an_answer_that_ends_its_line_gets_no_second_newline(specchat: Any, assistant: Scripted) -> None:
    assistant.rounds = plain("done\n")
    assert specchat("ask", "Hi").out == "done\n"


@pytest.mark.parametrize(
    ("argument", "stdin", "prompt"),
    [
        (["Hi"], None, "Hi"),
        (["Hi"], b"", "Hi"),
        (["Sum up"], b"line 1\nline 2\n", "Sum up\n\nline 1\nline 2"),
        ([], b"from a pipe\r\n", "from a pipe"),
        (["-"], b"from a pipe", "from a pipe"),
        ([], b"\xef\xbb\xbfwith a mark", "with a mark"),
        (["--", "--temp"], None, "--temp"),
        (["-1 + 1 = ?"], None, "-1 + 1 = ?"),
        ([], "한국어 👍🏽".encode(), "한국어 👍🏽"),
        ([], b"x" * 300_000, "x" * 300_000),
    ],
)
def test_the_prompt_is_the_argument_and_then_stdin(
    argument: list[str], stdin: bytes | None, prompt: str, specchat: Any, assistant: Scripted
) -> None:
    assert specchat("ask", *argument, stdin=stdin).code == 0
    (message,) = assistant.asked
    assert (message.role, message.content) == ("user", prompt)


def test_bytes_that_are_not_utf_8_are_replaced_and_that_is_said(specchat: Any, assistant: Scripted) -> None:
    outcome = specchat("ask", "--json", stdin=b"caf\xe9")
    sentence = "Standard input is not UTF-8 (first at byte 3): such bytes were replaced by \ufffd."
    assert assistant.asked[0].content == "caf\ufffd"
    assert f"specchat: warning: {sentence}\n" in outcome.err
    assert json.loads(outcome.out)["warnings"] == [sentence]
    assert "The prompt is not UTF-8" in specchat("ask", "caf\udce9").err


@pytest.mark.parametrize("stdin", [b"", b" \n", b"\xef\xbb\xbf"])
def test_an_empty_pipe_is_an_empty_prompt(stdin: bytes, specchat: Any) -> None:
    assert specchat("ask", stdin=stdin).code == 2


def test_the_json_object_has_exactly_its_keys(specchat: Any, assistant: Scripted) -> None:
    assistant.rounds = SPECULATIVE
    assistant.warnings = ["Mind the gap."]
    outcome = specchat("ask", "Hi", "--json")
    assert outcome.out.count("\n") == 1
    answer = json.loads(outcome.out)
    memory, speculation = answer.pop("memory"), answer.pop("speculation")
    assert answer == {
        "text": "abcd",
        "thinking": None,
        "finish_reason": "length",
        "tokens": [5, 6, 7, 8],
        "origins": ["draft:lookup", "draft:lookup", "target", "plain"],
        "prompt_tokens": 0,
        "reused_tokens": 0,
        "prefilled_tokens": 0,
        "completion_tokens": 4,
        "ttft_s": 0.5,
        "tok_s": 1.0,
        "model": "scripted (4-bit)",
        "draft": "lookup",
        "seed": None,
        "warnings": ["Mind the gap."],
        "exactness": {"mode": "fast", "band": None, "reverified": 0, "replayed": 0},
    }
    assert list(memory) == ["target_bytes", "draft_bytes", "kv_bytes", "peak_bytes"]
    assert speculation["acceptance_rate"] == 0.5
    assert speculation["acceptance_length"] == 3.0
    assert (speculation["speedup"], speculation["verify_cost"]) == (None, {}), "not measured, so not claimed"
    assert "specchat: warning: Mind the gap." in outcome.err


def test_jsonl_is_a_line_a_round_and_then_the_object(specchat: Any, assistant: Scripted) -> None:
    assistant.rounds = SPECULATIVE
    *rounds, last = [json.loads(line) for line in specchat("ask", "Hi", "--jsonl").out.splitlines()]
    assert [line["event"] for line in rounds] == ["round"] * 3
    assert [line["text"] for line in rounds] == ["abc", "d", ""]
    assert (rounds[0]["k"], rounds[0]["accepted"], rounds[-1]["finish_reason"]) == (4, 2, "length")
    assert last == json.loads(specchat("ask", "Hi", "--json").out)


def test_stats_say_what_speculation_did(specchat: Any, assistant: Scripted) -> None:
    assistant.rounds = SPECULATIVE
    outcome = specchat("ask", "Hi", "--stats")
    assert outcome.out == "abcd\n"
    assert outcome.err.splitlines()[1:] == [
        "specchat: scripted (4-bit), draft lookup, finished by length",
        "specchat: 4 tokens at 1.0 tok/s, first after 0.50 s; prompt 0, 0 of them reused; context 14 of 2048",
        "specchat: K 0, accepted 2 of 4 (rate 50.0%), acceptance length 3.00, draft share 50.0%",
    ]


def test_stats_say_why_speculation_is_off(specchat: Any, assistant: Scripted) -> None:
    assistant.metrics.state = "off"
    assistant.verdict = Verdict("off", "user", "Speculation is off: no draft source was chosen.")
    lines = specchat("ask", "Hi", "--stats", "--draft", "none").err.splitlines()
    assert lines[-1] == "specchat: Speculation is off: no draft source was chosen."


@pytest.mark.parametrize("kind", ["off", "slower"])
def test_a_draft_that_is_not_used_or_costs_is_a_warning(
    kind: Any, specchat: Any, assistant: Scripted
) -> None:
    sentence = "Speculation is off: its cache cannot be rolled back."
    assistant.verdict = Verdict(kind, "pair", sentence)
    outcome = specchat("ask", "Hi", "--json")
    assert json.loads(outcome.out)["warnings"] == [sentence]
    assert f"specchat: warning: {sentence}\n" in outcome.err


def test_why_it_is_parked_is_a_note_and_no_warning(specchat: Any, assistant: Scripted) -> None:
    assistant.verdict = PARKED
    outcome = specchat("ask", "Hi", "--json")
    assert f"specchat: note: {PARKED.sentence}\n" in outcome.err
    assert json.loads(outcome.out)["warnings"] == []


@pytest.mark.parametrize(
    "verdict", [None, PAYING, Verdict("measuring", None, "Wait."), Verdict("off", "user", "K was set to 0.")]
)
def test_nothing_is_said_where_it_pays_or_was_not_wanted(
    verdict: Verdict | None, specchat: Any, assistant: Scripted
) -> None:
    assistant.verdict = verdict
    assert specchat("ask", "Hi").err == "specchat: Loading the script\n"


def test_json_has_the_verdict_and_its_numbers(specchat: Any, assistant: Scripted) -> None:
    assistant.verdict = PARKED
    assistant.metrics.state = "parked"
    speculation = json.loads(specchat("ask", "Hi", "--json").out)["speculation"]
    assert speculation["reason"] == PARKED.sentence, "nothing but the verdict says why"
    assert speculation["verdict"] == {
        "kind": "parked",
        "cause": "verification",
        "sentence": PARKED.sentence,
    }
    assert speculation["speedup"] == {"value": 0.512, "low": 0.48, "high": 0.55}
    assert speculation["verify_cost"] == FACTS["verify_cost"]
    assert (speculation["serial_index"], speculation["predicted"]) == (0.88, 0.5)


def test_a_new_pair_is_measured_after_its_answer(specchat: Any, assistant: Scripted) -> None:
    assistant.calls = 5
    outcome = specchat("ask", "Hi")
    assert (outcome.code, assistant.calls, assistant.called) == (0, 0, 5)
    assert outcome.err.count("Measuring this model on this machine.") == 1
    assert "Measuring" not in specchat("ask", "Hi").err


def test_a_machine_too_busy_to_be_measured_is_a_note(specchat: Any, assistant: Scripted) -> None:
    assistant.spoilt = True
    assert "specchat: note: Other programs kept this machine too busy" in specchat("ask", "Hi").err


def test_an_interrupted_answer_measures_nothing(specchat: Any, assistant: Scripted) -> None:
    assistant.calls = 5
    assistant.rounds = plain("Hel", finish="interrupt")
    specchat("ask", "Hi")
    assert assistant.called == 0


def test_measurements_that_cannot_be_kept_are_a_warning(specchat: Any, assistant: Scripted) -> None:
    assistant.calls, assistant.unkept = 1, "The folder is read-only."
    assert "specchat: warning: The folder is read-only.\n" in specchat("ask", "Hi").err


def test_reading_a_long_prompt_is_a_line_of_jsonl_each_time(specchat: Any, assistant: Scripted) -> None:
    assistant.prefill = [(512, 1000), (1000, 1000)]
    first, second, third, *_ = map(json.loads, specchat("ask", "Hi", "--jsonl").out.splitlines())
    assert first == {"event": "prefill", "read": 512, "total": 1000}
    assert (second["read"], third["event"]) == (1000, "round")
    assert "512" not in specchat("ask", "Hi").err, "stderr is no terminal"


def test_reading_a_prompt_shows_on_a_terminal_once_it_takes_long(
    specchat: Any, assistant: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    assistant.prefill = [(1024, 6000), (2048, 6000), (6000, 6000)]
    times = iter([0.0, 0.6, 1.2, 1.8])
    monkeypatch.setattr("app.subcommands.ask.time.monotonic", lambda: next(times))
    monkeypatch.setattr("app.subcommands.status.os.environ", {"TERM": "xterm"})
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    outcome = specchat("ask", "Hi")
    assert outcome.out == "Hello there\n"
    assert "Reading the prompt: 1,024" not in outcome.err
    assert "\x1b[KReading the prompt: 2,048 of 6,000 tokens\r\x1b[K" in outcome.err
    assert outcome.err.endswith("\r\x1b[K")


THOUGHT = plain("<thi", "nk>\nWell", ".</", "think>", "\n\nYes", ".")


def test_thinking_goes_to_stderr_and_the_answer_to_stdout(specchat: Any, assistant: Scripted) -> None:
    """Case c28, piped."""
    assistant.rounds = THOUGHT
    outcome = specchat("ask", "Hi")
    assert outcome.out == "Yes.\n"
    assert outcome.err == "specchat: Loading the script\nWell.\n"


def test_thinking_is_a_key_of_its_own_in_json(specchat: Any, assistant: Scripted) -> None:
    assistant.rounds = THOUGHT
    outcome = specchat("ask", "Hi", "--json")
    answer = json.loads(outcome.out)
    assert (answer["text"], answer["thinking"], len(answer["tokens"])) == ("Yes.", "Well.", 6)
    assert "Well" not in outcome.err
    lines = [json.loads(line) for line in specchat("ask", "Hi", "--jsonl").out.splitlines()]
    assert [(line["thinking"], line["text"]) for line in lines if "event" in line and line["text"]] == [
        ("", "Yes"),
        ("", "."),
    ]


def test_thinking_that_the_prompt_opened_needs_no_marker(specchat: Any, assistant: Scripted) -> None:
    assistant.markers = Markers(opener="<think>\n")
    assistant.rounds = plain("Well.", "</think>", "Yes.")
    assert specchat("ask", "Hi").out == "Yes.\n"


def test_an_answer_that_ends_inside_its_thinking_is_told(specchat: Any, assistant: Scripted) -> None:
    assistant.rounds = plain("<think>", "Well", finish="length")
    outcome = specchat("ask", "Hi", "--json")
    sentence = "The answer ended before the model had finished thinking."
    assert json.loads(outcome.out)["warnings"] == [sentence]
    assert json.loads(outcome.out)["text"] == ""
    assert f"specchat: warning: {sentence}\n" in outcome.err


def test_a_full_context_and_an_unsaved_cache_are_told(specchat: Any, assistant: Scripted) -> None:
    assistant.context_limit = 12
    assistant.notices = ["The prompt contains <s>."]
    assistant.unsaved = "The prompt cache x could not be saved: No space left on device."
    assistant.rounds = plain("a", "b", finish="length")
    outcome = specchat("ask", "Hi", "--json")
    assert outcome.code == 0, "the answer is there"
    warnings = json.loads(outcome.out)["warnings"]
    assert warnings == [
        "The prompt contains <s>.",
        "The prompt cache x could not be saved: No space left on device.",
        "The answer was cut: the context of 12 tokens is full.",
    ]
    assert all(f"specchat: warning: {warning}\n" in outcome.err for warning in warnings)


def test_with_a_cache_the_piped_text_comes_first(specchat: Any, assistant: Scripted, tmp_path: Path) -> None:
    specchat("ask", "Sum up", "--cache", str(tmp_path / "x"), stdin=b"line 1\n")
    assert assistant.asked[0].content == "line 1\n\nSum up"


EVIL = plain("\x1b[2J", "\x1b]52;c;aGk=\x07", "\x9b1m", "a\rb\b", "[bold]x[/bold]")


def test_escapes_in_the_answer_are_shown_and_not_obeyed(specchat: Any, assistant: Scripted) -> None:
    """Case c24, piped."""
    assistant.rounds = EVIL
    assert specchat("ask", "Hi").out == "␛[2J␛]52;c;aGk=␇\\x9b1ma␍b␈[bold]x[/bold]\n"


@pytest.mark.parametrize("output", ["--json", "--jsonl"])
def test_json_holds_the_exact_text_in_harmless_bytes(output: str, specchat: Any, assistant: Scripted) -> None:
    assistant.rounds = [*EVIL[:-1], *plain("del \x7f 👍🏽")]
    out = specchat("ask", "Hi", output).out
    assert all(" " <= char < "\x7f" for line in out.splitlines() for char in line)
    text = json.loads(out.splitlines()[-1])["text"]
    assert text == "\x1b[2J\x1b]52;c;aGk=\x07\x9b1ma\rb\b[bold]x[/bold]del \x7f 👍🏽"


def test_unlimited_length_reaches_the_engine(specchat: Any, assistant: Scripted) -> None:
    """Case c02, at the command line."""
    assert specchat("ask", "Hi", "--max-tokens", "-1").code == 0
    assert assistant.settings is not None
    assert assistant.settings.limits.max_tokens == -1


@pytest.mark.parametrize("output", [None, "--json", "--jsonl"])
def test_the_first_ctrl_c_stops_and_keeps(output: str | None, specchat: Any, assistant: Scripted) -> None:
    def press() -> None:
        signal.raise_signal(signal.SIGINT)
        assert assistant.stopped.wait(5)

    assistant.rounds = [*plain("Hello")[:1], press, *plain(" never")]
    before = signal.getsignal(signal.SIGINT)
    outcome = specchat("ask", "Hi", *([output] if output else []))
    assert outcome.code == 130
    if output:
        answer = json.loads(outcome.out.splitlines()[-1])
        assert (answer["text"], answer["finish_reason"]) == ("Hello", "interrupt")
    else:
        assert outcome.out == "Hello\n"
    assert signal.getsignal(signal.SIGINT) == before
    assert assistant.closed


FAILURES: list[tuple[Exception, int]] = [
    (ModelMissing("There is no model called nobody/nothing.", "Check the name."), 3),
    (ModelMissing("There is no file /no/such.gguf.", "Check the path."), 3),
    (ModelError("The file cut.gguf ends too early.", "Fetch it again."), 3),
    (PairMismatch("The tokenizers differ.", "Choose another draft."), 1),
    (PromptTooLong("The prompt has 9000 tokens, and the context holds 2048.", "Shorten it."), 1),
    (CacheMismatch("After 9 tokens the target's cache differs.", "Please report it."), 1),
    (SpecError("Something failed."), 1),
    (PermissionError(13, "Permission denied", "/no/entry"), 1),
]


@pytest.mark.parametrize(("error", "code"), FAILURES, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("output", [[], ["--json"], ["--jsonl"]], ids=str)
@pytest.mark.parametrize("when", ["loading", "answering"])
def test_a_failure_is_a_sentence_and_nothing_half_written(
    error: Exception, code: int, output: list[str], when: str,
    specchat: Any, assistant: Scripted, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    def fail(settings: object, progress: Callable[[str], None]) -> None:
        raise error

    if when == "loading":
        monkeypatch.setattr("app.assistant.assistant.Assistant.load", fail)
    else:
        assistant.rounds = [error]
    outcome = specchat("ask", "Hi", *output)
    assert (outcome.code, outcome.out) == (code, "")
    assert "Traceback" not in outcome.err
    sentence = outcome.err.splitlines()[-1]
    expected = f"{error.message} {error.next_step}".strip() if isinstance(error, SpecError) else (
        "/no/entry: Permission denied."
    )  # fmt: skip
    assert sentence == f"specchat: error: {expected}"
    assert assistant.closed == (when == "answering")


def test_a_failure_midway_keeps_whole_lines(specchat: Any, assistant: Scripted) -> None:
    assistant.rounds = [*plain("Hel")[:1], SpecError("The device is gone.", "Start again.")]
    assert specchat("ask", "Hi").out == "Hel\n"
    outcome = specchat("ask", "Hi", "--json")
    assert (outcome.code, outcome.out) == (1, "")


def test_an_answer_that_the_engine_gave_up_is_a_failure(specchat: Any, assistant: Scripted) -> None:
    assistant.rounds = plain("Hel", finish="error")
    assert specchat("ask", "Hi").code == 1


def test_control_characters_in_a_complaint_are_neutralised(specchat: Any) -> None:
    assert "\x1b" not in specchat("ask", "Hi", "--draft", "\x1b[31m").err
    assert "\x1b" not in specchat("\x1b[31m").err


def test_the_config_file_reaches_the_engine(
    specchat: Any, assistant: Scripted, write_config: Callable[[str], Path]
) -> None:
    write_config('model = "org/name"\nk = 2\n')
    specchat("ask", "Hi", "--k", "3")
    assert assistant.settings is not None
    assert (assistant.settings.model, assistant.settings.k) == ("org/name", 3)
