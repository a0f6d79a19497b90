"""The command itself: what it loads, how it finds the command, how it ends."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scripted import ScriptedAssistant as Scripted

from app.assistant.assistant import Assistant
from app.settings.settings import Settings


@pytest.mark.parametrize("argv", [["--help"], ["ask", "--help"], ["paths"], ["--version"], ["--tmep", "1"]])
def test_what_needs_no_model_loads_no_engine_and_no_screen(argv: list[str], start_specchat: Any) -> None:
    code = (
        "import sys; from app.cli import main; main(sys.argv[1:]);"
        "print(sorted({'mlx', 'mlx_lm', 'transformers', 'textual', 'numpy'} & set(sys.modules)))"
    )
    out, _ = start_specchat(*argv, program=["-c", code]).communicate()
    assert out.splitlines()[-1] == "[]"


def test_python_m_app_is_specchat(start_specchat: Any) -> None:
    process = start_specchat("--help")
    assert process.communicate()[0].startswith("usage: specchat [COMMAND]")
    assert process.returncode == 0


@pytest.mark.parametrize(
    "argv",
    [["--temp", "0.5", "ask", "hi"], ["ask", "--temp=0.5", "hi"], ["ask", "hi", "--temp", "0.5"]],
)
def test_options_stand_before_or_after_the_command(
    argv: list[str], specchat: Any, assistant: Scripted
) -> None:
    assert specchat(*argv).code == 0
    assert assistant.settings == Settings(temp=0.5)
    assert assistant.asked[0].content == "hi"


def test_stop_strings_before_and_after_the_command_add_up(specchat: Any, assistant: Scripted) -> None:
    specchat("--stop", "a", "ask", "hi", "--stop", "b")
    assert assistant.settings is not None
    assert assistant.settings.stop == ("a", "b")


def test_without_a_terminal_it_is_ask(specchat: Any, assistant: Scripted) -> None:
    outcome = specchat("--json", stdin=b"hi\n")
    assert json.loads(outcome.out)["text"] == "Hello there"
    assert assistant.asked[0].content == "hi"


@pytest.mark.parametrize(
    ("argv", "chat_id"),
    [
        ([], None),
        (["-c"], ""),
        (["--continue"], ""),
        (["--resume", "abc"], "abc"),
        (["--resume=abc"], "abc"),
    ],
)
def test_on_a_terminal_it_is_the_chat_a_new_one_or_one_that_was_kept(
    argv: list[str], chat_id: str | None, specchat: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[tuple[Settings, str | None]] = []
    tui = types.ModuleType("app.tui")
    tui.chat = lambda given: shown.append(given) or 0  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "app.tui", tui)
    monkeypatch.setattr("app.desk.opening.open_desk", lambda *given: given)
    monkeypatch.setattr("app.cli._is_terminal", lambda stream: True)
    monkeypatch.setenv("TERM", "xterm")
    assert specchat("--k", "2", *argv).code == 0
    assert shown == [(Settings(k=2), chat_id)]


@pytest.mark.parametrize(
    ("argv", "said"),
    [(["-c"], "There is no chat to continue."), (["--resume", "abc"], "There is no chat 'abc'.")],
)
def test_a_chat_that_is_not_there_is_said_before_any_screen(
    argv: list[str], said: str, specchat: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.cli._is_terminal", lambda stream: True)
    outcome = specchat(*argv)
    assert (outcome.code, said in outcome.err) == (2, True)


@pytest.mark.parametrize(
    ("argv", "complaint"),
    [
        (["--tmep", "1", "ask", "hi"], "Unknown option --tmep. Did you mean --temp?"),
        (["ask", "--jsn", "hi"], "Unknown option --jsn. Did you mean --json?"),
        (["ask", "--zzz", "hi"], "Unknown option --zzz. See specchat ask --help."),
        (["aks", "hi"], "There is no command 'aks'. Did you mean ask?"),
        (
            ["What is MLX?"],
            "There is no command 'What is MLX?'. To ask one question: specchat ask \"QUESTION\".",
        ),
        (["ask", "two", "words"], "Unexpected argument 'words'. Put a prompt of several words in quotes."),
        (["ask", "--temp"], "--temp needs a value. If it starts with a dash, write --temp=VALUE."),
        (
            ["ask", "--json", "--jsonl", "hi"],
            "--jsonl: not allowed with argument --json. See specchat ask --help.",
        ),
        (["ask"], 'There is no prompt. Write specchat ask "QUESTION", or pipe text in.'),
        (["ask", ""], 'The prompt is empty. Write specchat ask "QUESTION", or pipe text in.'),
        (["ask", " \n\t"], 'The prompt is empty. Write specchat ask "QUESTION", or pipe text in.'),
    ],
)
def test_wrong_use_is_one_sentence_with_the_next_step(
    argv: list[str], complaint: str, specchat: Any, assistant: Scripted
) -> None:
    outcome = specchat(*argv)
    assert (outcome.code, outcome.out, outcome.err) == (2, "", f"specchat: error: {complaint}\n")
    assert assistant.settings is None, "nothing is loaded for a command that cannot run"


def test_an_unknown_config_key_is_wrong_use(specchat: Any, write_config: Callable[[str], Path]) -> None:
    file = write_config("tmep = 1\n")
    outcome = specchat("ask", "hi")
    assert outcome.code == 2
    assert outcome.err == (
        f"specchat: error: The config file {file} has an unknown key, tmep. Did you mean temp?\n"
    )
    assert specchat("paths").code == 0, "where the file is can still be asked"


def test_no_terminal_and_no_prompt_names_the_next_step(start_specchat: Any) -> None:
    process = start_specchat()
    out, err = process.communicate()
    assert (process.returncode, out) == (2, "")
    assert err == 'specchat: error: The prompt is empty. Write specchat ask "QUESTION", or pipe text in.\n'


def test_a_defect_is_a_sentence_unless_debugging(
    specchat: Any, assistant: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    assistant.rounds = [ZeroDivisionError("division by zero")]
    outcome = specchat("ask", "hi")
    assert outcome.code == 1
    assert outcome.err.splitlines()[-1] == (
        "specchat: error: ZeroDivisionError: division by zero. "
        "This is a defect in specchat; run again with SPECCHAT_DEBUG=1 to see where."
    )
    assert "Traceback" not in outcome.err
    monkeypatch.setenv("SPECCHAT_DEBUG", "1")
    assert "Traceback" in specchat("ask", "hi").err


def test_interrupting_the_load_ends_with_130(specchat: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def load(settings: Settings, progress: Any) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Assistant, "load", load)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    outcome = specchat("ask", "hi")
    signal.signal(signal.SIGINT, before)
    assert (outcome.code, outcome.out, outcome.err) == (130, "", "")


SCRIPTED = ["tests/scripted.py"]


@pytest.mark.parametrize(
    ("closed", "code", "out", "err"),
    [
        ("<&-", 0, "config", ""),
        ("2>&-", 0, "config", ""),
        ("<&- 2>&-", 0, "config", ""),
        (">&-", 1, "", "specchat: error: Standard output is closed. Send it to a file or a pipe.\n"),
        ("<&- >&- 2>&-", 1, "", ""),
    ],
)
def test_a_closed_stream_is_no_defect(closed: str, code: int, out: str, err: str) -> None:
    command = f'exec "$0" -m app paths {closed}'
    run = subprocess.run(
        ["sh", "-c", command, sys.executable], cwd=Path(__file__).parents[2], capture_output=True, text=True
    )
    assert (run.returncode, run.stdout[:6], run.stderr) == (code, out, err)


@pytest.mark.parametrize("output", [[], ["--jsonl"]])
def test_a_reader_that_leaves_ends_it_quietly(output: list[str], start_specchat: Any) -> None:
    process = start_specchat("ask", "count", *output, program=SCRIPTED)
    assert process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == "specchat: Loading the script\n"
    assert process.wait() == 0


def test_ctrl_c_keeps_what_came(start_specchat: Any) -> None:
    process = start_specchat("ask", "count", program=SCRIPTED)
    first = process.stdout.readline()
    process.send_signal(signal.SIGINT)
    rest, err = process.communicate()
    assert first == "0\n"
    assert (first + rest).split() == [str(i) for i in range(len((first + rest).split()))]
    assert process.returncode == 130
    assert "Traceback" not in err


def test_a_second_ctrl_c_ends_it_at_once(start_specchat: Any) -> None:
    process = start_specchat("ask", "hang", program=SCRIPTED)
    assert process.stdout.readline() == "0\n"
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    assert process.poll() is None, "the first one waits for the engine"
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 130
    assert "Traceback" not in process.communicate()[1]


def test_ctrl_c_keeps_the_object_whole(start_specchat: Any) -> None:
    process = start_specchat("ask", "count", "--jsonl", program=SCRIPTED)
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate()
    last = json.loads(out.splitlines()[-1])
    assert last["finish_reason"] == "interrupt"
    assert last["text"].startswith("0\n")
    assert process.returncode == 130


def test_text_that_the_terminal_cannot_show_gets_a_stand_in(
    monkeypatch: pytest.MonkeyPatch, start_specchat: Any
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    code = (
        "from app import cli, errors; cli.main(['paths']); print('caf\\xe9'); errors.tell('warning', '\\x1b')"
    )
    process: subprocess.Popen[str] = start_specchat(program=["-c", code])
    out, err = process.communicate()
    assert out.splitlines()[-1] == "caf\\xe9"
    assert err == "specchat: warning: \\u241b\n"
